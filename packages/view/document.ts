export { csvLine } from './document/csv.ts';
export {
  type Block,
  type Chart,
  type Document,
  type Fact,
  groupedProblems,
  joinPages,
  type Section,
  sectionTable,
  withoutEmptyColumns,
} from './document/document.ts';
export { sectionsLatex } from './document/latex.ts';
export { sectionsMarkdown } from './document/markdown.ts';
export { documentText, proseWidth, type TextPage } from './document/text.ts';

export { csvLine } from './document/csv.ts';
export { sectionsLatex } from './document/section-latex.ts';
export { sectionsMarkdown } from './document/section-markdown.ts';
export { type TextPage, sectionText } from './document/section-text.ts';
export { type Chart, type Section, sectionTable, withoutEmptyColumns } from './document/section.ts';
export {
  type Block,
  type Document,
  documentText,
  type Fact,
  groupedProblems,
  joinPages,
  proseWidth,
} from './document/document.ts';

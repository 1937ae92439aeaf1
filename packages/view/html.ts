export { documentHtml } from './html/document-html.ts';
export { reportHtml, reportStyle, sectionHtml } from './html/page-html.ts';

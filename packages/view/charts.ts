export { type DrawnLines, type Line, lineChart, pathOf } from './charts/line-chart.ts';
export { type ChartPart } from './charts/palette.ts';
export { type BarRow, barChart, stacked, type Strip, stripChart } from './charts/row-chart.ts';
export {
  linearScale,
  logScale,
  rateUnit,
  type Scale,
  shortNumber,
  timeUnit,
  type Unit,
} from './charts/scale.ts';
export { element, picture } from './charts/svg.ts';

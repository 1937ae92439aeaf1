export {
  type Unit,
  horizontalAxis,
  rateUnit,
  scaleTo,
  tickStep,
  timeUnit,
  verticalAxis,
} from './charts/axis.ts';
export { stackedBars } from './charts/bar-chart.ts';
export { heatMap } from './charts/heat-map.ts';
export { type ChartPart, chartLegend, groupColours } from './charts/palette.ts';
export { type Strip, stripChart } from './charts/strip-chart.ts';
export { element, escapeMarkup, label, nameLabels, nameRoom, picture } from './charts/svg.ts';

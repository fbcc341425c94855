// What other features use of figures over time: the figures, the names under which jobs are counted, costs, and where they may add to the page of trends.
export { countedName } from './counting/counted-chunk.ts'
export { costsIn } from './cost/sql.ts'
export { day, hour, type TrendFigures, type TrendStep } from './counting/figures.ts'
export { onTrends } from './pages/trend-part.ts'
export { trendsIn } from './reading/sql.ts'

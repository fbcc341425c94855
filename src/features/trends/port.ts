// What the trends feature exports to other features: trends, the names under which jobs are counted, costs, and the slot for parts of the trends
// page.
export { countedName } from './counting/counted-chunk.ts'
export { costsIn } from './cost/sql.ts'
export { day, hour, type TrendFigures, type TrendStep } from './counting/figures.ts'
export { onTrends } from './pages/trend-part.ts'
export { trendsIn } from './reading/sql.ts'

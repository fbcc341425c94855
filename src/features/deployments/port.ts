// What other features may use of deployments.
export { countBehindWith } from './count-behind.ts'
export { shownDeployment } from './sql/deployment-reads.ts'
export type { ShownDeployment } from './ports/deployments.ts'

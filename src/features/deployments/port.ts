// What other features may use of deployments.
export { countBehindWith } from './count-behind.ts'
export { shownDeployment, type ShownDeployment } from './sql/deployment-reads.ts'

// The parts of the deployments feature that other features may use.
export { countBehindWith } from './count-behind.ts'
export { shownDeployment, type ShownDeployment } from './sql/deployment-reads.ts'

// Deployments: what is reported of them is taken in with what reported it (`Processed`, `RunChange`); each is counted once, when it has ended and all
// that is known of it had time to arrive.
import type { Deployment } from '../../model/deployment.ts'
import type { Millis } from '../../model/instant.ts'

export interface ReportedDeployment {
  readonly deployment: Deployment
  /** Once it has ended it is counted so much later, ms: so long others may report of it, and of what was before it. */
  readonly countIn: Millis
}

// What the pages of deployments and changes read, within the scope of the user.
import { changeReads } from '../sql/changes.ts'
import { deploymentReads } from '../sql/deployment-reads.ts'
import { incidentReads } from '../sql/incidents.ts'
import type { countBehindWith } from '../count-behind.ts'
import type { IsProduction } from '../model/deployment.ts'
import type { PagesParts } from '../../../console/ports.ts'

/** What is the same for all users. */
export interface Shared {
  readonly isProduction: IsProduction
  readonly countBehind: ReturnType<typeof countBehindWith>
}

export function sourcesOf(parts: PagesParts, shared: Shared) {
  return {
    ...{ ...parts, ...shared },
    deployments: parts.on(deploymentReads),
    incidents: parts.on(incidentReads),
    changes: parts.on(changeReads),
  }
}

export type DeploymentSources = ReturnType<typeof sourcesOf>

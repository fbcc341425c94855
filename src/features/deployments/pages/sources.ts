// The data that the pages about deployments and changes read, limited to the projects that the user may see.
import { changeReads } from '../sql/changes.ts'
import { deploymentReads } from '../sql/deployment-reads.ts'
import { incidentReads } from '../sql/incidents.ts'
import type { countBehindWith } from '../count-behind.ts'
import type { IsProduction } from '../model/deployment.ts'
import type { PagesParts } from '../../../console/ports.ts'

/** The data sources that are the same for all users. */
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

// What the pages of deployments and changes read, within the scope of whoever looks at them.
import { changeReads } from '../sql/changes.ts'
import { deploymentReads } from '../sql/deployment-reads.ts'
import { incidentReads } from '../sql/incidents.ts'
import type { Changes } from '../ports/changes.ts'
import type { Deployments } from '../ports/deployments.ts'
import type { Incidents } from '../ports/incidents.ts'
import type { PagesParts } from '../../../console/ports.ts'

export interface DeploymentSources extends PagesParts {
  readonly deployments: Pick<Deployments, 'list' | 'current'>
  readonly incidents: Pick<Incidents, 'opened' | 'open'>
  readonly changes: Pick<Changes, 'list' | 'states'>
}

export function sourcesOf(parts: PagesParts): DeploymentSources {
  return {
    ...parts,
    deployments: parts.on(deploymentReads),
    incidents: parts.on(incidentReads),
    changes: parts.on(changeReads),
  }
}

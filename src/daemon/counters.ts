// Starts what counts deployments, changes and incidents. Only the deployment counter asks the platform, for commits, if its API is configured.
import {
  countedChanges,
  countedIncidents,
  createOnceCounter,
  type IncidentMeasure,
  type OnceCounter,
} from '../features/deployments/once-counter.ts'
import { changes } from '../features/deployments/sql/changes.ts'
import { deployments } from '../features/deployments/sql/deployments.ts'
import { incidents } from '../features/deployments/sql/incidents.ts'
import { createCapabilities } from '../core/complete/capability.ts'
import { createCommitsReading } from '../features/deployments/deployed-commits.ts'
import { productionBy } from '../features/deployments/production.ts'
import { createDeploymentCounter, type DeploymentCounter } from '../features/deployments/deployment-counter.ts'
import { createErrorThrottle } from '../platform/rest/error-throttle.ts'
import type { ChangeMeasure } from '../model/change-figures.ts'
import { ofDeployment } from '../features/deployments/condition.ts'
import { profileBy } from './connections.ts'
import type { FigureOutlets } from '../features/deployments/counter.ts'
import { startLoop, type Started } from './steps.ts'
import type { Wiring } from './wiring.ts'

const why = (things: string): string => `${things} that were not counted yet are counted after the next start`

export function startDeploymentCounter(wiring: Wiring): Started<DeploymentCounter> {
  const { config, store, connections, notifier, log } = wiring
  const tokens = connections.map(({ name, client, scope, territory }) => {
    const capabilities = createCapabilities(store.repositories.refusedEndpoints, scope)
    const commits = createCommitsReading(client, capabilities, config.leadTime)
    return { territory, commits, errors: createErrorThrottle(log, name) }
  })
  const isProduction = productionBy(config.production)
  const counter = createDeploymentCounter({
    ...countingOf(wiring),
    ...{ deployments: store.on(deployments), tokens },
    isProduction,
    reports: (id, deployment, figures) => notifier.reports(ofDeployment(id, deployment, figures, isProduction)),
  })
  return startLoop(counter, why('deployments'))
}

export function startChangeCounter(wiring: Wiring): Started<OnceCounter<ChangeMeasure>> {
  const options = { store: wiring.store.on(changes), ...countingOf(wiring) }
  return startLoop(createOnceCounter(countedChanges, options), why('changes'))
}

export function startIncidentCounter(wiring: Wiring): Started<OnceCounter<IncidentMeasure>> {
  const options = { store: wiring.store.on(incidents), ...countingOf(wiring) }
  return startLoop(createOnceCounter(countedIncidents, options), why('incidents'))
}

function countingOf(
  wiring: Wiring,
): FigureOutlets & Pick<Wiring, 'clock' | 'log'> & { readonly onCounted: () => void } {
  const { config, events, queues, measure, clock, log } = wiring
  const to = queues.flatMap(({ signal, ...rest }) => (signal === 'metrics' ? [{ ...rest, signal }] : []))
  return { measure, to, profile: profileBy(config), onCounted: () => events.pending.emit(), clock, log }
}

// The metrics of deployments: their values and attributes.
import { ATTR_DEPLOYMENT_ENVIRONMENT_NAME } from '@opentelemetry/semantic-conventions'
import { longBounds } from '../../../model/totals.ts'
import { ATTR_DEPLOYMENT_STATUS } from './semconv.ts'
import { textRow, type AttributeRow } from './row.ts'
import type { DeploymentFigures } from '../../../model/deployment-figures.ts'
import type { FiguresRow } from './metrics.ts'

type Row = AttributeRow<DeploymentFigures>

const environment: Row = textRow(ATTR_DEPLOYMENT_ENVIRONMENT_NAME, 'always', figures => figures.environment)
const tier: Row = textRow('platform.deployment.environment.tier', 'known', figures => figures.tier)
const production: Row = textRow(
  'platform.deployment.environment.production',
  'known',
  ({ isProduction }) => isProduction?.toString(),
  '`true` or `false`, as `PIPESPAN_PRODUCTION` says',
)
const status: Row = textRow(ATTR_DEPLOYMENT_STATUS, 'always', ({ outcome }) => outcome)
const definition: Row = textRow(
  'platform.deployment.lead_time.definition',
  'always',
  figures => figures.definition,
  '`PIPESPAN_LEAD_TIME`: `commit`, `authored`, `merge`',
)

const counter = { type: 'counter', number: 'int' } as const
const histogram = { type: 'histogram', number: 'double', unit: 's' } as const
const place = [environment, tier, production]

// prettier-ignore
export const deploymentMetrics: readonly FiguresRow<DeploymentFigures>[] = [
  { name: 'platform.deployment.count', ...counter, unit: '{deployment}', attributes: [...place, status], when: 'it succeeded or failed', values: () => [1],
    description: 'Deployments that ended, by their outcome.' },
  { name: 'platform.deployment.duration', ...histogram, attributes: place, when: 'its start is known', values: ({ duration }) => seconds(duration),
    description: 'Time from the start to the end of a deployment, whatever its outcome.' },
  { name: 'platform.deployment.last.timestamp', type: 'gauge', number: 'double', unit: 's', attributes: [environment, production], when: 'it succeeded',
    values: ({ outcome, finishedAt }) => (outcome === 'succeeded' ? [finishedAt / 1_000] : []),
    description: 'When the last deployment to the environment succeeded, in seconds of Unix time.' },
  { name: 'platform.deployment.rollback.count', ...counter, unit: '{rollback}', attributes: [environment, production], when: 'it is a rollback', values: ({ isRollback }) => (isRollback === true ? [1] : []),
    description: 'Deployments that brought back an earlier revision, or one older than the one they replaced.' },
  { name: 'platform.deployment.recovery_time', ...histogram, bounds: longBounds, attributes: place, when: 'it is the first successful one after a failure, or a rollback', values: ({ recovery }) => seconds(recovery),
    description: 'Time from the first failed deployment to the next successful one; for a rollback, from the deployment that it rolled back.' },
  { name: 'platform.deployment.lead_time', ...histogram, bounds: longBounds, attributes: [...place, definition], when: 'to production, and the API is configured', values: ({ leadTimes = [] }) => leadTimes.flatMap(seconds),
    description: 'Time from a commit to its deployment to production; an attribute names the definition.' },
]

function seconds(ms: number | undefined): number[] {
  return ms === undefined ? [] : [ms / 1_000]
}

// Makes gauges about the ingest tokens of the observability instance: enforcement, the number of tokens and their ages.
import type { Gauges } from '../../daemon/feature.ts'
import type { IngestTokens } from './ingest-tokens.ts'

const tokenName = 'platform.ingest.token.name'

export const ingestMetrics: Gauges['metrics'] = [
  {
    name: 'platform.ingest.enforced',
    ...{ unit: '1', number: 'int', attributes: [] },
    description: 'Whether telemetry without a valid ingest token is dropped (1) or accepted (0).',
  },
  {
    name: 'platform.ingest.token.count',
    ...{ unit: '{token}', number: 'int', attributes: [] },
    description: 'Valid ingest tokens.',
  },
  {
    name: 'platform.ingest.token.age',
    ...{ unit: 's', number: 'double', attributes: [tokenName] },
    description: 'Age of the ingest token.',
  },
]

export interface IngestPoint {
  readonly metric: string
  readonly attributes: Readonly<Record<string, string>>
  readonly value: number | { readonly since: number }
}

/** Reads the gauges with two requests. Rejects with an InstanceError. */
export async function ingestGauges(instance: Pick<IngestTokens, 'list' | 'enforcement'>): Promise<IngestPoint[]> {
  const isEnforced = await instance.enforcement()
  const valid = (await instance.list()).filter(token => token.valid)
  return [
    { metric: 'platform.ingest.enforced', attributes: {}, value: isEnforced ? 1 : 0 },
    { metric: 'platform.ingest.token.count', attributes: {}, value: valid.length },
    ...valid.flatMap(({ id, name = id, createdAt }): IngestPoint[] => {
      if (createdAt === undefined) return []
      return [{ metric: 'platform.ingest.token.age', attributes: { [tokenName]: name }, value: { since: createdAt } }]
    }),
  ]
}

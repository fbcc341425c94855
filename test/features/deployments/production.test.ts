// Which environments are production.
import { expect, it } from 'vitest'
import { productionBy } from '../../../src/features/deployments/production.ts'

const environments = [
  { environment: 'production' },
  { environment: 'prod' },
  { environment: 'live-eu' },
  { environment: 'eu', tier: 'production' },
  { environment: 'live-trial', tier: 'testing' },
  { environment: 'live-us/.green' },
]

it.each([
  [undefined, ['production', 'prod', 'eu']],
  [['live-*'], ['live-eu', 'live-trial']],
  [
    ['live-eu', 'tier:prod*'],
    ['live-eu', 'eu'],
  ],
  [['tier:production'], ['eu']],
  [['tier:*'], ['eu', 'live-trial']],
  [['tier: production'], ['eu']],
  [['tier:'], []],
  [['live-us/*'], ['live-us/.green']],
])('PIPESPAN_PRODUCTION=%j selects %j', (patterns, selected) => {
  const isProduction = productionBy(patterns)
  expect(environments.filter(isProduction).map(({ environment }) => environment)).toEqual(selected)
})

// Tests which environments count as production.
import { expect, it } from 'vitest'
import type { PlatformEvent } from '../../../src/model/event.ts'
import { countedStep } from '../../../src/features/deployments/line-step.ts'
import { productionBy } from '../../../src/features/deployments/model/deployment.ts'

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
])('with PIPESPAN_PRODUCTION=%j, selects the production environments %j', (patterns, selected) => {
  const isProduction = productionBy(patterns)
  expect(environments.filter(isProduction).map(({ environment }) => environment)).toEqual(selected)
})

it('marks each deployment event with an environment as production or not, as configured', () => {
  const added = (attributes: PlatformEvent['attributes'], patterns?: string[], kind = 'deployment'): unknown => {
    const event = {
      instance: '',
      kind,
      name: 'n',
      severity: 'info',
      body: '',
      attributes,
      object: 'o',
      content: 'c',
    } as const
    const { attributesOf } = countedStep({ afterEvent: 0, afterSnapshot: 0 }, productionBy(patterns))
    const found = attributesOf?.(event)
    return found?.['platform.deployment.environment.production']
  }
  const of = (environment: string): PlatformEvent['attributes'] => ({ 'deployment.environment.name': environment })
  expect([added(of('production')), added(of('live-eu'))]).toEqual(['true', 'false'])
  expect([added(of('production'), ['live-*']), added(of('live-eu'), ['live-*'])]).toEqual(['false', 'true'])
  expect(added({ ...of('live-eu'), 'platform.deployment.environment.tier': 'production' })).toBe('true')
  expect([added({}), added(of('production'), undefined, 'release')]).toEqual([undefined, undefined])
})

// Collects the limits of a group's compute minutes, which only paid tiers have (REST document, "Other resources").
import { z } from 'zod'
import { hour, pathOf, point, type Collector } from './collector.ts'
import { maybe, wireCount } from '../rest/wire-field.ts'

const group = z.object({
  shared_runners_minutes_limit: maybe(wireCount),
  extra_shared_runners_minutes_limit: maybe(wireCount),
})

const remedy = 'Give the token a user who may see the limits (paid tiers), or remove `inventory.groups`.'

const limit = { unit: 'min', number: 'int', attributes: [] } as const

export const groups: Collector = {
  kind: 'groups',
  of: 'groups',
  description: 'Limits of compute minutes.',
  paths: ['/groups/:id'],
  every: hour,
  requests: '1',
  atLeast: 1,
  role: 'a member who may see the limits; a paid tier',
  metrics: [
    {
      name: 'platform.group.compute_minutes.limit',
      ...limit,
      description: 'Minutes of instance runners that the group may use per month; 0 means no limit.',
    },
    {
      name: 'platform.group.compute_minutes.extra_limit',
      ...limit,
      description: 'Additional minutes that the group has bought.',
    },
  ],
  collect: async ({ ask, owner }) => {
    const answer = await ask.one(pathOf(owner), group, { with_projects: false })
    const { shared_runners_minutes_limit: own, extra_shared_runners_minutes_limit: extra } = answer
    return {
      // Without extra minutes the platform may leave out their limit.
      ...(own === undefined && { problem: `The group's answer has no usable shared_runners_minutes_limit. ${remedy}` }),
      points: [
        ...(own === undefined ? [] : [point('platform.group.compute_minutes.limit', own)]),
        ...(extra === undefined ? [] : [point('platform.group.compute_minutes.extra_limit', extra)]),
      ],
    }
  },
}

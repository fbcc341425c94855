// The price table: what a minute of a job's time costs, by the runner that it ran on.
import { Each, setting } from './option.ts'
import { decimal, oneOf, rateName, text } from './plain-kinds.ts'
import { list, patterns } from './list-kinds.ts'

export const costOptions = {
  unit: setting(text, {
    variable: 'PIPESPAN_COSTS_UNIT',
    default: 'min',
    says: 'The unit of all prices, such as a currency; the unit of the metric of costs.',
    example: 'EUR',
  }),
  rules: new Each(
    {
      name: setting(rateName, {
        required: true,
        says: 'Name of the rate, in metrics; several rules may share one.',
      }),
      match: {
        tags: setting(list, { says: 'Tags that its runner has, or that the job asks for: all of these.' }),
        type: setting(oneOf(['instance_type', 'group_type', 'project_type']), { says: 'Type of its runner.' }),
        project: setting(patterns, { says: 'Patterns of the full path of its project.' }),
      },
      perMinute: setting(decimal, { default: '1', says: 'Price of a minute.' }),
      factor: setting(decimal, { default: '1', says: 'By which its minutes are multiplied.' }),
    },
    'The price table: cost = minutes × per_minute × factor, by the first rule that matches in all that it names; one without `match` matches every job. What no rule matches is counted under `unpriced`. Without rules there are no costs.',
  ),
}

// The options of the price table: what a minute of a job costs, by the runner that it ran on.
import { Each, setting } from './option.ts'
import { decimal, oneOf, rateName, text } from './plain-kinds.ts'
import { list, patterns } from './list-kinds.ts'

export const costOptions = {
  unit: setting(text, {
    variable: 'PIPESPAN_COSTS_UNIT',
    default: 'min',
    says: 'Unit of all prices, e.g. a currency; also the unit of the cost metric.',
    example: 'EUR',
  }),
  rules: new Each(
    {
      name: setting(rateName, {
        required: true,
        says: 'Name of the rate in metrics; several rules may share a name.',
      }),
      match: {
        tags: setting(list, { says: 'Tags of the runner, or requested by the job; all must match.' }),
        type: setting(oneOf(['instance_type', 'group_type', 'project_type']), { says: 'Runner type.' }),
        project: setting(patterns, { says: 'Patterns of the full project path.' }),
      },
      perMinute: setting(decimal, { default: '1', says: 'Price per minute.' }),
      factor: setting(decimal, { default: '1', says: 'Factor for its minutes.' }),
    },
    'The price table: cost = minutes × per_minute × factor, by the first rule whose conditions all match; a rule without `match` matches every job. Jobs that no rule matches are counted as `unpriced`. Without rules no costs are computed.',
  ),
}

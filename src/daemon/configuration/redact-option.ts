// The option of what is redacted in all texts of others.
import { regularExpressions } from './list-kinds.ts'
import { setting } from './option.ts'

export const redact = setting(regularExpressions, { protects: 'each', example: 'ACME-[0-9a-f]{32}' }).describe(
  'Regular expressions to redact in job logs, reports, events and the inventory, in addition to known secret formats, without backreferences and look-around. A comma within brackets or after a backslash is part of the expression.',
)

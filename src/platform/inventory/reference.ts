// Writes docs/INVENTORY.md from the table of collectors.
import { collectors } from './collectors.ts'
import { hour, minute } from './collector.ts'
import { requestsAnHour } from './requests.ts'

/** Markdown, ending in a line feed. */
export function inventoryReference(): string {
  const rows = collectors.map(one => [
    `\`inventory.${one.kind}\``,
    one.of,
    one.says,
    one.asks.map(path => `\`${path}\``).join('<br>'),
    intervalOf(one.every),
    one.requests,
    one.role,
    one.metrics.map(({ name }) => `\`${name}\``).join('<br>'),
  ])
  const head = ['switch', 'a list of', 'reports', 'asks', 'every', 'requests for each', 'role', 'gauges']
  const lines = [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`)
  return `${[heading, introduction, lines.join('\n'), rules, queries].join('\n\n')}\n`
}

function intervalOf(ms: number): string {
  return ms >= hour ? `${ms / hour} h` : `${ms / minute} min`
}

const heading = '# What the platform has, as gauges'

const introduction = `Written from the table in \`src/platform/inventory\` by \`npm run docs\`; a test holds it against it. All of it is off until it is
listed, needs \`PIPESPAN_PLATFORM_URL\` and \`PIPESPAN_PLATFORM_TOKEN\`, and is asked by one replica out of the budget that everything else leaves.`

/** An example: everything on, for so many projects. */
const example = 50
const projects = Array.from({ length: example }, (_, n) => `p${n}`)
const everything = collectors.flatMap(one =>
  (one.of === 'groups' ? ['g'] : projects).map(named => ({ ...one, owner: { as: one.of, named } })),
)
/** A query asks as often as it is configured, by default. */
const query = { every: 5 * minute, atLeast: 1, owner: { as: 'groups' as const, named: 'g' } }

const rules = `Each project or group is looked up once a day besides: one request, whatever is asked about it. Everything on for ${example} projects and a group, with one query about the
group: ${Math.ceil(requestsAnHour([...everything, query]))} requests an hour, and 24 more for each agent with its token. \`pipespan config check\` says the figure of a configuration before
it runs. What was found is sent with every flush of the metrics and shown on
\`/metrics\`, for three intervals and ten minutes at most; then there is no point. What the platform refuses for want of a role, a tier or a setting is said once
in the log, shown on the sources page and by \`pipespan doctor\`, and asked again once a day and when the daemon starts. What may pass by itself is asked again
after five minutes at most, then less and less often, once an hour at last.

\`platform.sbom\` is a log record: the digest of a project's bill of materials whenever it is another one than the day before, with how many components
there are, were added and were removed.`

const queries = `## Ingest tokens

Where \`PIPESPAN_OBSERVABILITY_URL\` and \`PIPESPAN_OBSERVABILITY_API_KEY\` are set, the observability instance is asked every 10 minutes, in two requests:
\`platform.ingest.enforced\`, \`platform.ingest.token.count\`, \`platform.ingest.token.age\`.

## Queries

\`\`\`yaml
queries:
  - metric: shop.merge_requests.open
    query: type = MergeRequest and state = opened
    group: shop
    attributes: { team: shop }
  - metric: shop.pipeline.duration.p50
    query: type = Pipeline and finished >= -30d
    project: shop/storefront
    value: p50
    fields: [ref]
    every: 1h
\`\`\`

Queries stand in the YAML file alone; whoever configures by variables names one that has nothing else in it, \`PIPESPAN_CONFIG\`: both are read.

Each is a gauge: its count, or the number in one field of each row of the answer, with the other fields as attributes (\`platform.query.ref\`). The
platform blocks queries that time out again and again, so one that fails is put off for ten minutes or twice its interval, then twice as long each time, a day at
most. \`pipespan config check --online\` asks each once and says what came of it.`

// The reference of all metrics, docs/METRICS.md, written from the tables that make them.
import { activeRunsMetric, attemptMetrics, costUnit } from '../mapping/metrics.ts'
import { changeCountMetric, changeDurationMetric, changeMetrics } from '../mapping/change-metrics.ts'
import { incidentMetrics } from '../mapping/incident-metrics.ts'
import { deploymentMetrics } from '../mapping/deployment-metrics.ts'
import { defaultBounds, longBounds } from '../metrics/buckets.ts'
import { mergeRequestRefs, otherRefs } from '../metrics/refs.ts'
import { projectLabels } from '../metrics/families.ts'
import type { GaugeHead } from '../mapping/gauge.ts'
import { code, table } from './markdown.ts'

/** What the reference shows of one of the daemon's own metrics. */
export interface OwnMetricRow {
  readonly name: string
  readonly type: string
  readonly unit: string
  readonly says: string
  readonly attributes: readonly string[]
}

/** What the reference shows of one thing that is asked about from time to time. */
export interface InventoryKindRow {
  /** What in the configuration switches it on. */
  readonly switch: string
  readonly metrics: readonly (GaugeHead & { readonly attributes: readonly string[] })[]
}

/** Markdown, ending in a line feed. */
export function metricsReference(own: readonly OwnMetricRow[], inventory: readonly InventoryKindRow[]): string {
  return `${[
    '# Metrics',
    'Written from the tables in `src/telemetry/mapping` and `src/self-telemetry` by `npm run docs`; a test holds it against them.',
    '## Of pipelines',
    introduction,
    table(
      ['metric', 'type', 'unit', 'attributes', 'when', 'description'],
      [
        ...attemptMetrics,
        activeRunsMetric,
        ...deploymentMetrics,
        ...changeMetrics,
        changeCountMetric,
        changeDurationMetric,
        ...incidentMetrics,
      ].map(({ name, type, unit, attributes, when, description }) => [
        code(name),
        typeName(type),
        unit === costUnit ? '`costs.unit`' : code(unit),
        attributes.flatMap(({ keys }) => keys.map(code)).join(', '),
        when,
        description,
      ]),
    ),
    attempts,
    '### Deployments',
    deployments,
    '### Changes',
    changes,
    '### Incidents',
    incidents,
    '### Of what the platform has',
    gauges,
    table(
      ['metric', 'unit', 'attributes', 'switch', 'description'],
      inventory.flatMap(({ switch: on, metrics }) =>
        metrics.map(({ name, unit, attributes, description }) => [
          code(name),
          code(unit),
          attributes.map(code).join(', '),
          code(on),
          description,
        ]),
      ),
    ),
    '### Temporality',
    temporality,
    '### How many series',
    cardinality,
    '### Scraping',
    scraping,
    '## Of the daemon itself',
    ownMetrics,
    table(
      ['metric', 'type', 'unit', 'attributes', 'description'],
      own.map(({ name, type, unit, attributes, says }) => [
        code(name),
        typeName(type),
        code(unit),
        attributes.map(code).join(', '),
        says,
      ]),
    ),
  ].join('\n\n')}\n`
}

const introduction = `Names, types, units and attributes are a contract: dashboards and alerts may rely on them. Names below \`platform.\` are the vendor's; the
profile decides on that prefix, as for attributes. Attributes are subject to \`PIPESPAN_ATTRIBUTES_DROP\`
and \`PIPESPAN_ATTRIBUTES_HASH\`; what they mean is in [ATTRIBUTES.md](ATTRIBUTES.md). No metric carries the id of a run.`

const gauges = `Asked from time to time, each switch by its own interval ([INVENTORY.md](INVENTORY.md)), and sent with every flush as it was found last: for
three intervals and ten minutes at most, then there is no point. Ages and times that are left are those of the moment. \`queries\` name their own gauges.`

const attempts = `A pipeline that is retried counts once for each attempt, with that attempt's status, its own duration and its own jobs. What is counted by
job (\`platform.cicd.compute.…\`, \`platform.cicd.pipeline.task.run.queued_duration\`, \`cicd.system.errors\`, \`platform.cicd.artifacts.size\`) counts also
jobs that were learnt after the export of their pipeline. \`platform.cicd.compute.purpose\` is \`retried\` where a later run of the job is known, \`superseded\`
where the job was canceled and a newer pipeline of the ref existed, \`failed\` by its result, else \`useful\`; a set of tags longer than 128 letters is \`*\`. The upper
bounds of the histograms' buckets are ${defaultBounds.join(', ')} seconds (\`PIPESPAN_METRICS_HISTOGRAM_BOUNDS\`).`

const deployments = `A deployment is known from its events (\`deployment\` in \`PIPESPAN_EVENTS\`), else from a job that deploys (\`environment.action\` = \`start\`) and succeeded: one job is one
deployment, whatever reports it. It is counted once, \`PIPESPAN_ENRICH_DEADLINE\` after its end was first reported; deployments that are reported within that time, in
whatever order, are compared by their ends. One that is reported after a later one of its environment was counted is counted with its duration, and
compared with none. What was canceled or skipped, and what names no environment, is not counted.

- A rollback brings back a revision that succeeded before in the environment, or one older than that which it replaces: committed earlier, or without any commit
  that the other has not.
- Recovery is the time from the first deployment that failed to the next that succeeded. A rollback repairs the deployment that it takes back: it counts from that one's end.
- Lead time has a value for each commit between the last deployment of the environment that succeeded and this one, of production alone (its tier, or an environment
  named \`production\` or \`prod\` where no tier is known): \`PIPESPAN_LEAD_TIME\` says from which time on. One request a deployment, 500 commits at most.

The upper bounds of the buckets of recovery and lead time are ${longBounds.join(', ')} seconds.`

const changes = `A change is a merge request. It is known from its events (\`change\` in \`PIPESPAN_EVENTS\`) and from the merge request pipelines that are known; both are
merged, in whatever order they arrive. Each of its times counts from when the merge request was created, and is counted once, \`PIPESPAN_ENRICH_DEADLINE\` after it was
first reported: what is reported within that time is taken into account, what comes later changes nothing of what was counted.

- Merge: until it was merged.
- Approval: until the first approval of anybody, also where it was taken back later.
- First pipeline: until the first merge request pipeline was created. Pipelines of branches are of no change; a project that has no others has no such time.
- An approval or a pipeline counts where the opening of the change was reported: of a change that is older than the hook, earlier ones may have gone unseen.

The upper bounds of the buckets of merge and approval are ${longBounds.join(', ')} seconds. The conventions' \`vcs.change.…\` metrics are exported with
\`PIPESPAN_VCS_METRICS=true\`: each has a series for each branch, folded as the refs of merge requests are (\`${mergeRequestRefs}\`, but for \`PIPESPAN_METRICS_REFS=all\`).
They count the changes that an event has reported and that are stored (\`PIPESPAN_TRENDS_KEEP\`): of those that were opened before the hook, the ones of which something
happened since.`

const incidents = `An incident is an issue of that type. It is known from its events (\`issue\` in \`PIPESPAN_EVENTS\`), and where the platform's API is configured from its list of incidents, asked
for those that have changed (1 request each \`PIPESPAN_POLL_INTERVAL\`): so one whose closing no webhook reported is closed all the same. That it was opened, and how long it
was open, are counted once each, \`PIPESPAN_ENRICH_DEADLINE\` after they were first reported.

- The duration is from its creation to its last end that was known by then. One that is reopened later counts no second time.
- What lay more than a week before an incident was first reported is not counted: it was there before anybody looked.
- Incidents are of a project, not of an environment. Incidents divided by deployments to production is one of the definitions of a change failure rate; the other,
  failed deployments and rollbacks divided by all, is in the metrics of deployments.`

const temporality = `\`cumulative\` (default): running totals of each project, kept in the store and moved in the transaction that takes the snapshot of an attempt, so that
neither a restart nor a second replica resets or doubles them. One replica sends them every \`PIPESPAN_METRICS_INTERVAL\`; what is refused is
superseded by the next flush. The resource is the project's, with \`service.namespace\` its owner and \`service.instance.id\` its id.

\`delta\` (\`OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE\`, or \`temporality\` of a destination): the points of each pipeline for itself, at the
time it ended, queued, retried and dead-lettered as traces are. \`cicd.pipeline.run.active\` is cumulative in either case, in requests of its own.

Points of counters and histograms carry an exemplar: the trace and span id of a pipeline that they count, of totals the latest, and what it added
(of a histogram its greatest value). The page for Prometheus has none: its text format cannot carry them.`

const cardinality = `The ref of a merge request pipeline is \`${mergeRequestRefs}\`. \`PIPESPAN_METRICS_REFS\` chooses the refs that keep their names; the others are
\`${otherRefs}\`. One metric of one project has \`PIPESPAN_METRICS_MAX_SERIES\` series at most; what is beyond shares the series with
\`otel.metric.overflow\` = true. Both are counted in \`pipespan.metrics.folded\`.`

const scraping = `\`/metrics\` on the admin listener shows the same totals in the Prometheus text format, each family once, with the labels
${projectLabels.map(code).join(', ')}: dots become underscores, and counters end in \`_total\` (\`cicd_pipeline_run_count_total\`). Projects that
\`PIPESPAN_PAGES_HIDE\` hides are left out. Who may open the pages may read it: without an admin token whoever asks from this machine, by \`localhost\` or
\`127.0.0.1\`; with one whoever sends it as a bearer token, from wherever ([Prometheus](operating.md#health-and-metrics)); \`PIPESPAN_METRICS_OPEN=true\` opens it to everybody.`

const ownMetrics = `Shown on \`/metrics\`, and sent by OTLP under \`service.name\` = \`pipespan\` when \`PIPESPAN_SELF_TELEMETRY=true\`; then operations that take
long are sent as spans too. Where the store is shared, what it holds is reported by every replica: take the maximum, not the sum, of the gauges
\`pipespan.inbox.*\`, \`pipespan.runs.stored\` and \`pipespan.export.queue.*\`.`

function typeName(type: string): string {
  return type === 'updowncounter' ? 'up-down counter' : type
}

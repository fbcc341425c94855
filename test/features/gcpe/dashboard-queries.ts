// The queries of the Grafana dashboards that gitlab-ci-pipelines-exporter publishes (environments, jobs, pipelines), as Grafana sends them if
// everything is selected.

const states = ['created', 'waiting_for_resource', 'preparing', 'pending', 'skipped', 'manual', 'scheduled']

/**
 * Returns a query for the status of the newest pipeline or job as a number, which is different for each status. If several statuses match, the first
 * one in the order of the numbers is returned.
 */
function ofStates(selected: (status: string) => string, by: string): string {
  const numbered = ['running', 'failed', 'canceled', ...states].map((status, at) => [status, at + 2] as const)
  return numbered.map(([status, value]) => `(max(${selected(status)}) by (${by}) * ${value}) > 0`).join(' or\n')
}

/**
 * Returns a query that converts the status to a number, which determines its colour on the dashboard: 1 for success, 2 for running, 3 for failed or
 * canceled, and 4 for all other statuses.
 */
function inColours(metric: string, labels: string): string {
  const selected = [
    'status="success"',
    'status="running"',
    'status=~"failed|canceled"',
    'status!~"success|running|failed|canceled"',
  ]
  return selected.map((status, at) => `(${metric}{${status}, ${labels}} * ${at + 1} > 0)`).join(' or ')
}

function increases(count: string, by: string): string[] {
  const lately = `sum(increase(${count}[1m])) by (${by})`
  return [`sum(increase(${count}[1h]))`, `${lately} / ${lately}`]
}

function ofRefs(prefix: string, more: string, by: string): string[] {
  const labels = `project=~"(.*).*",project=~".*", ref=~".*"${more}`
  const metric = (end: string): string => `${prefix}_${end}{${labels}}`
  const status = (operator: string): string => `${prefix}_status{status${operator}"success", ${labels}}`
  const unless = (operator: string): string => `unless (max(${status(operator)}) by (${by}) > 0)`
  return [
    inColours(`${prefix}_status`, labels),
    ofStates(one => `${prefix}_status{${labels}, status=~"${one}"}`, by),
    ...['!~', '=~'].flatMap(operator => [
      `-max(time() - ${metric('timestamp')}) by (${by}) ${unless(operator)}`,
      `max(${metric('duration_seconds')}) by (${by}) ${unless(operator)}`,
      `max(${metric('id')}) by (${by}) ${unless(operator)}`,
    ]),
    `avg(${metric('duration_seconds')})`,
    `avg(time() - ${metric('timestamp')})`,
    `count(${metric('run_count')})`,
    `count(${prefix}_status{status="failed", ${labels}} > 0) or vector(0)`,
    ...increases(metric('run_count'), by.replace(', kind', '')),
  ]
}

function ofEnvironments(): string[] {
  const labels = 'project=~"(.*).*",project=~".*", environment=~".*"'
  const metric = (end: string, more = ''): string => `gitlab_ci_environment_${end}{${more}${labels}}`
  const by = 'by (project, environment)'
  const numbered = [
    'success',
    'running',
    'failed',
    'canceled',
    'skipped',
    'created|waiting_for_resource|preparing|pending|manual|scheduled',
  ]
  return [
    numbered
      .map((status, at) => `(max(${metric('deployment_status', `status=~"${status}", `)}) ${by} * ${at + 1}) > 0`)
      .join(' or\n'),
    `-max(time() - ${metric('deployment_timestamp')}) ${by}`,
    `avg(${metric('behind_commits_count')})`,
    `avg(${metric('behind_duration_seconds')})`,
    `count(${metric('behind_commits_count')} > 0) or vector(0)`,
    `count(${metric('information', 'available="false", ')}) or vector(0)`,
    `count(${metric('information', 'available="true", ')}) or vector(0)`,
    `count(${metric('status', 'status="failed", ')} > 0) or vector(0)`,
    metric('behind_commits_count'),
    ...['behind_commits_count', 'behind_duration_seconds', 'deployment_duration_seconds', 'deployment_job_id'].map(
      end => `max(${metric(end)}) ${by}`,
    ),
    `max(${metric('information')}) by (environment_id, project, environment, author_email, current_commit_short_id, ref, latest_commit_short_id)`,
    ...increases(metric('deployment_count'), 'project, environment'),
  ]
}

/** The queries for the dashboards' variables: Grafana requests the values of a label. */
const variables = ['gitlab_ci_pipeline_id', 'gitlab_ci_pipeline_job_id', 'gitlab_ci_environment_information']

export const gcpeQueries: readonly string[] = [
  ...ofRefs('gitlab_ci_pipeline', '', 'project, ref, kind'),
  ...ofRefs('gitlab_ci_pipeline_job', ', job_name=~".*"', 'project, ref, job_name, kind'),
  ...ofEnvironments(),
  ...variables.map(metric => `group by (project) (${metric}{project=~"(.*).*",project=~".*"})`),
]

/** The metrics that none of these dashboards use. */
export const gcpeOthers: readonly string[] = [
  ...['coverage', 'queued_duration_seconds', 'job_queued_duration_seconds', 'job_artifact_size_bytes'],
  ...['report', 'suite'].flatMap(of =>
    ['total_time', 'total_count', 'success_count', 'failed_count', 'skipped_count', 'error_count'].map(
      end => `test_${of}_${end}`,
    ),
  ),
].map(end => `gitlab_ci_pipeline_${end}`)

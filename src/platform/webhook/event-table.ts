// The table of webhook events that are not about a pipeline. It defines which field becomes which attribute, what the event is about, when it
// happened, and what identifies it. The event reader, the webhook flags and docs/EVENTS.md are all based on this table.
import {
  changeState,
  count,
  deploymentOutcome,
  flag,
  id,
  refName,
  refType,
  revisionOf,
  shown,
  text,
  tipAction,
  tipOf,
  value,
  type EventAttribute,
  type Path,
} from './event-fields.ts'
import type { EventKind } from './event-kind.ts'
import type { PlatformEvent } from '../../model/event.ts'

export interface EventRow {
  /** The name that selects the event in PIPESPAN_EVENTS. */
  readonly word: string
  /** The `event_name` of the log record. */
  readonly name: `platform.${string}`
  /** The platform's names for the event kind, in the header or in the body. */
  readonly wire: readonly EventKind[]
  /** The flags that a webhook needs for the platform to send the event. */
  readonly flags: readonly string[]
  readonly sentBy: 'project' | 'group'
  readonly description: string
  /** The fields that identify the event's object; all are required. */
  readonly object: readonly Path[]
  /** The field that contains the time of the event. */
  readonly time?: Path
  /** The fields for the times at which the event's object was created and ended. They are used for counting and are not exported. */
  readonly times?: { readonly createdAt: Path; readonly endedAt: Path }
  /**
   * The fields that identify the event together with its object and its time. If undefined, the payload is not enough to identify the event, and
   * events of the same object are distinguished by the order in which they are taken in.
   */
  readonly version?: readonly Path[]
  readonly attributes: readonly EventAttribute[]
  readonly severity?: (attributes: PlatformEvent['attributes']) => PlatformEvent['severity']
  /** Returns a short human-readable description of the event. */
  readonly body: (attribute: (key: string) => string) => string
}

const byUser: readonly Path[] = ['user.id|user_id']
const user = [id('user.id', 'user.id|user_id'), text('user.name', 'user.username|user_username')]
const project: Path = 'project.id|project_id'
const owner: Path = 'project.id|project_id|group.id|group.group_id|group_id'
const own = 'object_attributes'

/** Prettier is disabled for this table, because it would spread each row over eight lines. */
// prettier-ignore
export const eventTable: readonly EventRow[] = [
  {
    word: 'deployment', name: 'platform.deployment', wire: ['deployment'], flags: ['deployment_events'], sentBy: 'project',
    description: 'A deployment was created, began, ended or was blocked.',
    object: ['deployment_id'], time: 'status_changed_at', version: ['status'],
    attributes: [
      id('deployment.id', 'deployment_id'),
      value('deployment.name', 'string', undefined, "the name of its job, if that is known in time", () => undefined),
      value('deployment.status', 'string', 'status', 'only once it has `succeeded` or `failed`', deploymentOutcome),
      shown('deployment.environment.name', 'environment'),
      text('platform.deployment.environment.tier', 'environment_tier'),
      value('platform.deployment.environment.production', 'string', undefined, '`true` or `false`: whether `PIPESPAN_PRODUCTION` matches the environment when the event is received', () => undefined),
      text('platform.deployment.status', 'status', "the platform's value"),
      value('vcs.ref.head.revision', 'string', 'commit_url|short_sha', 'the full revision, if the platform sends it', revisionOf),
      id('cicd.pipeline.task.run.id', 'deployable_id', 'the job that deploys'),
      ...user,
    ],
    severity: attributes => (attributes['deployment.status'] === 'failed' ? 'error' : 'info'),
    body: of => `Deployment ${of('platform.deployment.status')}: ${of('deployment.environment.name')}`,
  },
  {
    word: 'change', name: 'platform.vcs.change', wire: ['merge_request'], flags: ['merge_requests_events'], sentBy: 'project',
    description: 'A merge request was opened, changed, approved, closed or merged.',
    object: [`${own}.id`], time: `${own}.updated_at`, version: [`${own}.action`, ...byUser],
    times: { createdAt: `${own}.created_at`, endedAt: `${own}.merged_at` },
    attributes: [
      id('vcs.change.id', `${own}.iid`, 'the number in its URL'),
      shown('vcs.change.title', `${own}.title`),
      value('vcs.change.state', 'string', `${own}.state`, '`open`, `wip` (a draft, or locked), `closed`, `merged`', changeState),
      text('platform.vcs.change.action', `${own}.action`),
      flag('platform.vcs.change.draft', `${own}.draft|${own}.work_in_progress`),
      shown('vcs.ref.head.name', `${own}.source_branch`),
      shown('vcs.ref.base.name', `${own}.target_branch`),
      ...user,
    ],
    body: of => `Merge request !${of('vcs.change.id')}: ${of('platform.vcs.change.action')}`,
  },
  {
    word: 'release', name: 'platform.release', wire: ['release'], flags: ['releases_events'], sentBy: 'project',
    description: 'A release was created, changed or removed.',
    object: [project, 'tag'],
    attributes: [
      shown('platform.release.tag', 'tag'), shown('platform.release.name', 'name'), text('platform.release.action', 'action'), ...user,
    ],
    body: of => `Release ${of('platform.release.tag')}: ${of('platform.release.action')}`,
  },
  {
    word: 'feature_flag', name: 'platform.feature_flag.change', wire: ['feature_flag'], flags: ['feature_flag_events'], sentBy: 'project',
    description: 'A feature flag was switched on or off.',
    object: [project, `${own}.id`],
    attributes: [
      shown('feature_flag.key', `${own}.name`),
      value('feature_flag.provider.name', 'string', undefined, 'from the profile', (_, { provider }) => provider),
      flag('platform.feature_flag.active', `${own}.active`),
      ...user,
    ],
    body: of => `Feature flag ${of('feature_flag.key')}: ${of('platform.feature_flag.active') === 'true' ? 'on' : 'off'}`,
  },
  {
    word: 'access_token', name: 'platform.access_token.expiring', wire: ['access_token', 'resource_access_token'],
    flags: ['resource_access_token_events'], sentBy: 'project',
    description: 'An access token of a project or a group will expire: announced 60, 30, 7 and 1 days before. Severity WARN.',
    object: [`${own}.id`],
    attributes: [
      shown('platform.access_token.name', `${own}.name`),
      text('platform.access_token.expires_at', `${own}.expires_at`),
      value('platform.access_token.scope', 'string', 'project|group', '`project` or `group`', json => (json.project == null ? 'group' : 'project')),
    ],
    severity: () => 'warn',
    body: of => `Access token ${of('platform.access_token.name')} expires ${of('platform.access_token.expires_at')}`,
  },
  {
    word: 'push', name: 'platform.vcs.push', wire: ['push'], flags: ['push_events'], sentBy: 'project',
    description: 'Commits were pushed to a branch, or a branch was created or deleted.',
    object: [project, 'ref'], version: ['before', 'after'],
    attributes: [...pushed('platform.vcs.push'), count('platform.vcs.push.commits', 'total_commits_count'), ...user],
    body: of => `Branch ${of('vcs.ref.head.name')}: ${of('platform.vcs.push.action')}`,
  },
  {
    word: 'tag', name: 'platform.vcs.tag', wire: ['tag_push'], flags: ['tag_push_events'], sentBy: 'project',
    description: 'A tag was created, moved or deleted.',
    object: [project, 'ref'], version: ['before', 'after'],
    attributes: [...pushed('platform.vcs.tag'), ...user],
    body: of => `Tag ${of('vcs.ref.head.name')}: ${of('platform.vcs.tag.action')}`,
  },
  {
    word: 'issue', name: 'platform.issue', wire: ['issue', 'confidential_issue', 'work_item'], flags: ['issues_events'], sentBy: 'project',
    description: 'An issue, incident, task or other work item was opened, changed, closed or reopened.',
    object: [`${own}.id`], time: `${own}.updated_at`, version: [`${own}.action`, ...byUser],
    times: { createdAt: `${own}.created_at`, endedAt: `${own}.closed_at` },
    attributes: [
      id('platform.issue.id', `${own}.iid`, 'the number in its URL'),
      text('platform.issue.type', `${own}.type|${own}.issue_type`, '`Issue`, `Incident`, `Task`, …'),
      text('platform.issue.state', `${own}.state`),
      text('platform.issue.action', `${own}.action`),
      text('platform.issue.severity', `${own}.severity`),
      ...user,
    ],
    body: of => `${of('platform.issue.type') || 'Issue'} #${of('platform.issue.id')}: ${of('platform.issue.action')}`,
  },
  {
    word: 'note', name: 'platform.note', wire: ['note', 'confidential_note'], flags: ['note_events'], sentBy: 'project',
    description: 'A comment was written or changed. Its text is never exported.',
    object: [`${own}.id`], time: `${own}.updated_at`, version: [`${own}.action`, ...byUser],
    attributes: [
      id('platform.note.id', `${own}.id`),
      text('platform.note.action', `${own}.action`),
      text('platform.note.target.type', `${own}.noteable_type`, '`Commit`, `MergeRequest`, `Issue`, `Snippet`'),
      text('platform.note.target.id', `merge_request.iid|issue.iid|snippet.id|commit.id|${own}.noteable_id`),
      flag('platform.note.internal', `${own}.internal`),
      ...user,
    ],
    body: of => `Note on ${of('platform.note.target.type')} ${of('platform.note.target.id')}`,
  },
  {
    word: 'milestone', name: 'platform.milestone', wire: ['milestone'], flags: ['milestone_events'], sentBy: 'project',
    description: 'A milestone was created, changed, closed or removed.',
    object: [`${own}.id`], time: `${own}.updated_at`, version: [`action|${own}.action`, ...byUser],
    attributes: [
      id('platform.milestone.id', `${own}.iid|${own}.id`, 'the number in its URL'),
      text('platform.milestone.action', `action|${own}.action`),
      text('platform.milestone.state', `${own}.state`),
      text('platform.milestone.due_date', `${own}.due_date`),
      ...user,
    ],
    body: of => `Milestone ${of('platform.milestone.id')}: ${of('platform.milestone.action')}`,
  },
  {
    word: 'wiki_page', name: 'platform.wiki_page', wire: ['wiki_page'], flags: ['wiki_page_events'], sentBy: 'project',
    description: 'A page of a wiki was created, changed or removed.',
    object: [owner, `${own}.slug`],
    attributes: [shown('platform.wiki_page.slug', `${own}.slug`), text('platform.wiki_page.action', `${own}.action`), ...user],
    body: of => `Wiki page ${of('platform.wiki_page.slug')}: ${of('platform.wiki_page.action')}`,
  },
  {
    word: 'emoji', name: 'platform.emoji', wire: ['emoji'], flags: ['emoji_events'], sentBy: 'group',
    description: 'An emoji was awarded or revoked.',
    object: [`${own}.id`], time: `${own}.updated_at`, version: [`${own}.action|event_type`, ...byUser],
    attributes: [
      id('platform.emoji.id', `${own}.id`),
      text('platform.emoji.name', `${own}.name`),
      text('platform.emoji.action', `${own}.action|event_type`),
      text('platform.emoji.target.type', `${own}.awardable_type`),
      id('platform.emoji.target.id', `${own}.awardable_id`),
      ...user,
    ],
    body: of => `Emoji ${of('platform.emoji.name')}: ${of('platform.emoji.action')}`,
  },
  {
    word: 'member', name: 'platform.member', wire: ['member'], flags: ['member_events'], sentBy: 'group',
    description: 'Somebody became a member of a group or project, requested access, was given another role or was removed. `user.*` is the member.',
    object: [owner, 'user_id'],
    attributes: [
      text('platform.member.action', 'event_name', '`user_add_to_group`, `user_update_for_group`, …'),
      text('platform.member.access_level', 'group_access|access_level|project_access'),
      text('platform.member.expires_at', 'expires_at'),
      id('platform.group.id', 'group_id'),
      ...user,
    ],
    body: of => `Member: ${of('platform.member.action')}`,
  },
  {
    word: 'subgroup', name: 'platform.subgroup', wire: ['subgroup'], flags: ['subgroup_events'], sentBy: 'group',
    description: 'A subgroup was created or removed.',
    object: ['group_id'],
    attributes: [
      text('platform.subgroup.action', 'event_name', '`subgroup_create`, `subgroup_destroy`'),
      id('platform.group.id', 'group_id'),
      text('platform.group.path', 'full_path|path'),
    ],
    body: of => `Subgroup ${of('platform.group.path')}: ${of('platform.subgroup.action')}`,
  },
  {
    word: 'project', name: 'platform.project', wire: ['project'], flags: ['project_events'], sentBy: 'group',
    description: 'A project was created, removed, renamed or moved.',
    object: ['project_id'],
    attributes: [
      text('platform.project.action', 'event_name', '`project_create`, `project_destroy`, …'),
      text('platform.project.visibility', 'project_visibility'),
      text('platform.project.path.before', 'old_path_with_namespace'),
    ],
    body: of => `Project: ${of('platform.project.action')}`,
  },
  {
    word: 'repository_update', name: 'platform.repository_update', wire: ['repository_update'], flags: ['repository_update_events'], sentBy: 'project',
    description: 'A push changed refs of a repository: once for all of its refs.',
    object: [project],
    attributes: [
      value('platform.repository_update.refs', 'int', 'changes', 'how many refs changed', ({ changes }) => (Array.isArray(changes) ? changes.length : undefined)),
      ...user,
    ],
    body: of => `Repository update: ${of('platform.repository_update.refs')} refs`,
  },
  {
    word: 'vulnerability', name: 'platform.vulnerability', wire: ['vulnerability'], flags: ['vulnerability_events'], sentBy: 'project',
    description: 'A vulnerability was found, or its state changed.',
    object: [`${own}.id|${own}.url`],
    attributes: [
      text('platform.vulnerability.id', `${own}.id|${own}.url`, 'its ID, otherwise its URL'),
      text('platform.vulnerability.state', `${own}.state`),
      text('platform.vulnerability.severity', `${own}.severity`),
      text('platform.vulnerability.report_type', `${own}.report_type`),
    ],
    body: of => `Vulnerability ${of('platform.vulnerability.severity')}: ${of('platform.vulnerability.state')}`,
  },
]

/** Returns the attributes of a push to a branch or a tag. */
function pushed(prefix: `platform.${string}`): readonly EventAttribute[] {
  return [
    { ...value('vcs.ref.head.name', 'string', 'ref', 'without `refs/heads/` or `refs/tags/`', refName), isFree: true },
    value('vcs.ref.head.revision', 'string', 'after', 'absent if the ref was deleted', json => tipOf(json.after)),
    value('vcs.ref.head.type', 'string', 'ref', '`branch` or `tag`', refType),
    value('vcs.ref.base.revision', 'string', 'before', 'absent if the ref was created', json => tipOf(json.before)),
    value(`${prefix}.action`, 'string', 'before|after', '`created`, `updated` or `deleted`', tipAction),
  ]
}

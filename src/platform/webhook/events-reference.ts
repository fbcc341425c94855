// Writes docs/EVENTS.md from the tables of events.
import { auditAddress, auditAttributes, auditName } from '../rest/audit-table.ts'
import { eventTable, type EventRow } from './event-table.ts'
import { profiles } from '../profile.ts'

/** Markdown, ending in a line feed. */
export function eventsReference(): string {
  return `${[
    '# Events',
    'Written from the table in `src/platform/webhook/event-table.ts` by `npm run docs`; a test holds it against that.',
    introduction(),
    '## Which event becomes what',
    table(
      ['`PIPESPAN_EVENTS`', '`event_name`', 'webhook', 'known again by', 'what it is'],
      eventTable.map(row => [code(row.word), code(row.name), webhookOf(row), identityOf(row), row.says]),
    ),
    confidential,
    ...eventTable.flatMap(row => [`## ${row.word}`, attributesTable('field of the payload', row.attributes)]),
    '## Audit events',
    audit,
    attributesTable('field of the answer', [...auditAttributes, auditAddress]),
  ].join('\n\n')}\n`
}

function introduction(): string {
  const prefixes = Object.entries(profiles).map(([name, { namespace }]) => `${code(namespace)} for ${code(name)}`)
  return `What happens around pipelines at the platform, as log records: each webhook event that \`PIPESPAN_EVENTS\` names is one record in scope
\`pipespan.events\`, with the resource of its project. It costs no request: only the hook must send it
(\`pipespan hooks ensure\` ticks what is missing). What is not selected is answered with 200 and counted. \`pipespan map FILE\` shows what
becomes of a payload.

Such a record is an event as OpenTelemetry has it: its name stands in the field \`event_name\` (and, for backends that do not read that,
in the attribute \`event.name\` with \`PIPESPAN_EVENTS_NAME_ATTRIBUTE=true\`); its time is when it happened, where the platform says so, else when it was
received; its observed time is when it was received; its severity is INFO unless stated, ERROR for a deployment that failed; its body is a short
text to be shown. Names below \`platform.\` are the vendor's; the profile decides on that prefix (${prefixes.join(', ')}).

Each event is exported once, also where a project's hook and a group's hook, a resend or the platform's records report it again. Most say enough
to be known again. Those that do not are distinguished by what they say, in the order of arrival: equal ones received within ten minutes, with nothing else
of the same object between them, are one. So a flag that goes on, off and on again is three events.

An event of a deployment is of the span of the job that deploys (\`deployable_id\`): it waits for the snapshot of that job's pipeline,
\`PIPESPAN_ENRICH_DEADLINE\` at most (10 minutes where that is longer), and goes without trace and span id after that, with
\`cicd.pipeline.task.run.id\` alone. Where no destination takes log records no event is stored
(\`pipespan.intake.events_unclaimed\` counts them); what they report of deployments is.

Never exported: e-mail addresses (in texts they are redacted, as the shapes of secrets are, and what \`PIPESPAN_REDACT\` names), descriptions, comments, avatars, commit messages. Names and values are
subject to \`PIPESPAN_ATTRIBUTES_DROP\` and \`PIPESPAN_ATTRIBUTES_HASH\`, as everywhere; the body is no attribute. Projects that are left out
(\`PIPESPAN_PROJECTS_INCLUDE\`, \`PIPESPAN_PROJECTS_EXCLUDE\`) have no events. An event that is about no project has the group's path as its
\`service.name\`, else the instance's host, unless one is configured.`
}

const confidential = `Events of confidential issues and comments are exported where a hook sends them; \`pipespan hooks ensure\` does not ask for them.`

const audit = `What people and tokens did at the platform, by its audit events: records ${code(auditName)}, in the same scope and with the same resource. No webhook
sends them; they are asked for at the platform's API, of whom \`PIPESPAN_AUDIT\` says: \`instance\` (with an administrator's token, on an installation of one's own), or groups
(with an owner's; others are answered, and see only what they did themselves: \`pipespan doctor\` says so). That costs one request for each source in each
\`PIPESPAN_POLL_INTERVAL\`, and one more for each 100 events. One replica asks; where it stopped it goes on, and the last five minutes are read again each
time, as an event may show later than its time says. The first look goes back \`PIPESPAN_AUDIT_LOOKBACK\`; \`pipespan backfill --audit --since 40d\` reads what was before. Each
event is exported once: its number and its time distinguish it.

Its time is when it was done, its severity INFO, its body the platform's own sentence, else what was changed. In all texts e-mail addresses and the shapes of secrets are blacked out.`

function attributesTable(field: string, attributes: EventRow['attributes']): string {
  return table(
    ['attribute', 'type', field, 'note'],
    attributes.map(({ key, type, from, note }) => [
      code(key),
      type,
      from === undefined ? '' : fields(from),
      note ?? '',
    ]),
  )
}

function webhookOf({ wire, flags, sentBy }: EventRow): string {
  const kinds = wire.map(code).join(', ')
  if (sentBy === 'system') return `${kinds}; system hooks`
  return `${kinds}; ${flags.map(code).join(', ')}${sentBy === 'group' ? ' of groups' : ''}`
}

function identityOf({ object, time, version }: EventRow): string {
  const paths = [...object, ...(version ?? []), ...(time === undefined ? [] : [time])]
  return version === undefined
    ? `${object.map(fields).join(', ')}, and the order of arrival`
    : paths.map(fields).join(', ')
}

function fields(path: string): string {
  return path.split('|').map(code).join(' or ')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}

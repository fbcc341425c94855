// The tables of both databases. Times are Unix times in ms. JSON is stored as plain text, because it is never queried.
import type { Dialect, StorePart } from '../ports/store-part.ts'
import { refuseNewer } from './schema-faults.ts'
import { number, record, text, type Row } from './columns.ts'

export function schemaOf(dialect: Dialect): string {
  const { id, ownId, bytes, byKey } = dialect
  return `
  -- Deliveries that could not be decoded.
  CREATE TABLE quarantined_deliveries (
    id          ${id},
    event       text     NOT NULL,
    instance    text,
    source      text     NOT NULL,
    received_at bigint   NOT NULL,
    body        ${bytes} NOT NULL,
    reason      text     NOT NULL,
    version     text     NOT NULL,
    -- 1 if the delivery is to be decoded again, otherwise 0.
    retry       integer  NOT NULL
  );

  CREATE TABLE runs (
    id              ${id},
    instance        text   NOT NULL,
    pipeline_id     bigint NOT NULL,
    project_id      bigint NOT NULL,
    name            text,
    status          text,
    project         text   NOT NULL,
    -- All other data of the run. If it has few jobs, they are here too (run-rows.ts).
    document        ${bytes}  NOT NULL,
    jobs            integer NOT NULL,
    attempts        integer NOT NULL,
    first_seen_by   text   NOT NULL,
    changed_at      bigint NOT NULL,
    ended_at        bigint,
    enriching_until bigint,
    due_at          bigint,
    UNIQUE (instance, pipeline_id)
  );
  CREATE INDEX runs_due ON runs (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX runs_at_rest ON runs (changed_at, id) WHERE due_at IS NULL;
  CREATE INDEX runs_active ON runs (instance, project_id, name, status)
    WHERE due_at IS NOT NULL AND status NOT IN ('success', 'failed', 'canceled', 'skipped');
  CREATE INDEX runs_without_snapshot ON runs (instance, pipeline_id) WHERE attempts = 0;

  -- The jobs of runs with many jobs. A page contains the jobs from \`first_job\` up to the \`first_job\` of the next page (job-pages.ts).
  CREATE TABLE job_pages (
    run_id    bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    first_job bigint NOT NULL,
    content   ${bytes} NOT NULL,
    PRIMARY KEY (run_id, first_job)
  );

  -- The chunks of snapshots, of job internals (such as log sections), and of events. A chunk fits into one request.
  -- \`inside\` is the id of the job whose internals the chunk contains. A chunk of an event has no run.
  CREATE TABLE chunks (
    id          ${id},
    run_id      bigint  REFERENCES runs (id) ON DELETE CASCADE,
    attempt     integer NOT NULL,
    number      integer NOT NULL,
    content     text    NOT NULL,
    snapshot_at bigint  NOT NULL,
    inside      bigint,
    UNIQUE (run_id, attempt, number)
  );

  -- Messages to send: each is a chunk, encoded for one signal and compressed. A message is deleted with its last outbox entry.
  CREATE TABLE messages (
    id          ${id},
    signal      text     NOT NULL,
    body        ${bytes} NOT NULL,
    instance    text     NOT NULL,
    -- Set if the message is about a run.
    pipeline_id bigint,
    attempt     integer  NOT NULL,
    number      integer  NOT NULL,
    project_id  bigint,
    project     text,
    group_path  text     NOT NULL,
    -- Set if the message is about an event.
    event_key   text,
    kind        text,
    -- When the delivery that caused the message was received.
    observed_at bigint
  );
  CREATE INDEX messages_by_pipeline ON messages (pipeline_id, instance) WHERE pipeline_id IS NOT NULL;
  CREATE INDEX messages_by_event ON messages (event_key) WHERE event_key IS NOT NULL;

  -- One row for each destination to which a message is still to be sent, or which rejected it permanently.
  CREATE TABLE outbox (
    id            ${id},
    message_id    bigint  NOT NULL REFERENCES messages (id),
    signal        text    NOT NULL,
    destination   text    NOT NULL,
    state         text    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'dead')),
    pending_since bigint  NOT NULL,
    due_at        bigint  NOT NULL,
    lease         text,
    tries         integer NOT NULL DEFAULT 0,
    answer_status integer,
    error         text,
    settled_at    bigint
  );
  CREATE INDEX outbox_by_message ON outbox (message_id);
  CREATE INDEX outbox_pending ON outbox (destination, signal, due_at, id) WHERE state = 'pending';
  CREATE INDEX outbox_pending_put_off ON outbox (destination, signal, error) WHERE state = 'pending' AND error IS NOT NULL;
  CREATE INDEX outbox_dead ON outbox (id) WHERE state = 'dead';
  CREATE INDEX outbox_dead_by_age ON outbox (settled_at) WHERE state = 'dead';

  -- Events that do not belong to a run.
  CREATE TABLE events (
    chunk_id    ${ownId} REFERENCES chunks (id) ON DELETE CASCADE,
    key         text   NOT NULL UNIQUE,
    kind        text   NOT NULL,
    -- The kind of the event on the timeline; null if it is not shown there.
    shown_as    text,
    instance    text   NOT NULL,
    project_id  bigint,
    project     text,
    happened_at bigint NOT NULL,
    taken_at    bigint NOT NULL,
    -- The job whose span the event still waits for.
    waits_for   bigint,
    -- The path of the group, for an event about a group.
    group_path  text   NOT NULL DEFAULT ''
  );
  CREATE INDEX events_by_age ON events (taken_at);
  CREATE INDEX audit_events ON events (happened_at, chunk_id) WHERE kind = 'audit';
  CREATE INDEX shown_events ON events (shown_as, happened_at, chunk_id) WHERE shown_as IS NOT NULL;
  CREATE INDEX shown_events_of_project ON events (project, shown_as, happened_at, chunk_id) WHERE shown_as IS NOT NULL;
  CREATE INDEX events_waiting ON events (waits_for, instance) WHERE waits_for IS NOT NULL;

  -- The last reported state of each object whose events have no key, and the event that reported it (events.ts).
  CREATE TABLE event_states (
    object      text   PRIMARY KEY,
    number      bigint NOT NULL,
    content     text   NOT NULL,
    received_at bigint NOT NULL,
    chunk_id    bigint NOT NULL REFERENCES chunks (id) ON DELETE CASCADE
  ) ${byKey};
  CREATE INDEX event_states_by_chunk ON event_states (chunk_id);

  -- The tombstones of pruned runs, which record what was exported (tombstone-text.ts).
  CREATE TABLE tombstones (
    instance    text   NOT NULL,
    pipeline_id bigint NOT NULL,
    project_id  bigint NOT NULL,
    pruned_at   bigint NOT NULL,
    memory      text   NOT NULL,
    PRIMARY KEY (instance, pipeline_id)
  ) ${byKey};
  CREATE INDEX tombstones_by_age ON tombstones (pruned_at);

  -- The runs that are to be requested from the API of the platform.
  CREATE TABLE enrichment_queue (
    run_id   ${ownId} REFERENCES runs (id) ON DELETE CASCADE,
    priority text    NOT NULL,
    detail   integer NOT NULL,
    due_at   bigint  NOT NULL,
    leased   integer NOT NULL
  );
  CREATE INDEX enrichment_queue_due ON enrichment_queue (priority, due_at);

  -- The jobs that triggered other pipelines.
  CREATE TABLE triggers (
    instance    text   NOT NULL,
    pipeline_id bigint NOT NULL,
    run_id      bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    job_id      bigint NOT NULL,
    PRIMARY KEY (instance, pipeline_id)
  ) ${byKey};
  CREATE INDEX triggers_by_run ON triggers (run_id);

  -- The projects for which running totals of metrics are stored.
  CREATE TABLE totals_projects (
    id         ${id},
    instance   text   NOT NULL,
    project_id bigint NOT NULL,
    profile    text   NOT NULL,
    facts      text   NOT NULL,
    -- For each metric, the stored values of the attribute that may have only a limited number of values, as JSON.
    names      text   NOT NULL DEFAULT '{}',
    UNIQUE (instance, project_id)
  );

  CREATE TABLE totals (
    project    bigint NOT NULL REFERENCES totals_projects (id) ON DELETE CASCADE,
    series     text   NOT NULL,
    metric     text   NOT NULL,
    attributes text   NOT NULL,
    shape      text   NOT NULL,
    amount     text   NOT NULL,
    started_at bigint NOT NULL,
    PRIMARY KEY (project, series)
  ) ${byKey};
  -- Used by scrapes.
  CREATE INDEX totals_by_metric ON totals (metric, project, series);

  -- Increments that have not been added to the totals yet (fold-totals.ts).
  CREATE TABLE totals_added (
    id       ${id},
    added_at bigint NOT NULL,
    content  ${bytes} NOT NULL
  );

  -- The columns by which run lists are filtered and ordered.
  CREATE TABLE listed_runs (
    run_id      ${ownId} REFERENCES runs (id) ON DELETE CASCADE,
    instance    text   NOT NULL,
    pipeline_id bigint NOT NULL,
    project_id  bigint NOT NULL,
    project     text   NOT NULL,
    status      text   NOT NULL,
    ref         text   NOT NULL,
    source      text   NOT NULL,
    created_at  bigint NOT NULL,
    finished_at bigint,
    parent_id   bigint,
    text        text   NOT NULL
  );
  CREATE INDEX listed_by_time ON listed_runs (created_at, run_id);
  -- The columns after \`run_id\` are for further filters: with them in the index, runs are filtered without reading their rows.
  CREATE INDEX listed_by_project ON listed_runs (project, created_at, run_id, status, ref, source);
  CREATE INDEX listed_by_status ON listed_runs (status, created_at, run_id, source);
  CREATE INDEX listed_by_ref ON listed_runs (ref, created_at, run_id, status, source);
  CREATE INDEX listed_by_source ON listed_runs (source, created_at, run_id);
  CREATE INDEX listed_by_finish ON listed_runs (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX listed_by_parent ON listed_runs (parent_id, instance) WHERE parent_id IS NOT NULL;
  CREATE INDEX listed_by_pipeline ON listed_runs (pipeline_id, project_id);

  CREATE TABLE owners (
    id         ${id},
    instance   text    NOT NULL,
    -- 0 for a group or an instance.
    project_id bigint  NOT NULL,
    -- Empty for a project or an instance.
    group_path text    NOT NULL,
    -- The latest path; empty if it is unknown.
    path       text    NOT NULL,
    seen_at    bigint  NOT NULL,
    version    integer NOT NULL DEFAULT 1,
    UNIQUE (instance, project_id, group_path)
  );

  CREATE TABLE counters (
    name  text PRIMARY KEY,
    value bigint NOT NULL
  ) ${byKey};

  CREATE TABLE key_value (
    name  text PRIMARY KEY,
    value text NOT NULL
  ) ${byKey};

  -- How many schema steps of each feature have run (\`missingSteps\`).
  CREATE TABLE schema_parts (
    name   text PRIMARY KEY,
    number integer NOT NULL
  ) ${byKey};

  CREATE TABLE leases (
    name   text PRIMARY KEY,
    holder text   NOT NULL,
    until  bigint NOT NULL
  ) ${byKey};
  `
}

// The schemas of features. The store records how many steps of each schema have run, and runs the missing steps on opening.

export const selectPartNumbers = 'SELECT name, number FROM schema_parts'

export interface MissingSteps {
  readonly name: string
  /** How many of the feature's schema steps have run once the missing ones are applied. */
  readonly number: number
  readonly steps: readonly string[]
}

/**
 * Returns the missing schema steps, given the rows of `selectPartNumbers`. Throws StoreError if a feature's schema is more than one step ahead of
 * this version.
 */
export function missingSteps(rows: readonly Row[], parts: readonly StorePart[], dialect: Dialect): MissingSteps[] {
  const done = new Map(rows.map(partNumber).map(one => [one.name, one.number]))
  return parts.flatMap(({ name, schema }) => {
    const known = done.get(name) ?? 0
    refuseNewer('The store', known, schema.length, ` of ${name}`)
    const steps = schema.slice(known).map(step => step(dialect))
    return steps.length === 0 ? [] : [{ name, number: schema.length, steps }]
  })
}

const partNumber = record({ name: text('name'), number: number('number') })

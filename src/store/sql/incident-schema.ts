// The table of incidents, of both databases (`schema.ts`).
import type { Dialect } from './dialect.ts'

export function incidentSchema({ id }: Dialect): string {
  return `
  -- Incidents: \`content\` is all that is known of one, the columns what it is found by. \`due_at\`: when something is to be counted of it.
  CREATE TABLE incidents (
    id                 ${id},
    instance           text     NOT NULL,
    project_id         bigint   NOT NULL,
    project            text,
    iid                bigint   NOT NULL,
    state              text     NOT NULL,
    opened_at          bigint,
    changed_at         bigint   NOT NULL,
    content            text     NOT NULL,
    -- Since when it is known.
    known_at           bigint   NOT NULL,
    due_at             bigint,
    -- When its opening was counted, or found to be too old for that; the same of its end.
    opening_counted_at bigint,
    closing_counted_at bigint,
    UNIQUE (instance, project_id, iid)
  );
  CREATE INDEX incidents_due ON incidents (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX incidents_by_opening ON incidents (opened_at);
  CREATE INDEX incidents_of_project ON incidents (project, opened_at);
  CREATE INDEX incidents_open ON incidents (opened_at) WHERE state = 'opened';
  CREATE INDEX incidents_by_change ON incidents (changed_at);
  `
}

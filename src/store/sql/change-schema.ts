// The table of changes, of both databases (`schema.ts`).
import type { Dialect } from './dialect.ts'

export function changeSchema({ id }: Dialect): string {
  return `
  -- Changes (merge requests). \`content\`: the merged reports. \`due_at\`: when its new times are counted. \`counted\`: the times that were.
  CREATE TABLE changes (
    id          ${id},
    instance    text   NOT NULL,
    project_id  bigint NOT NULL,
    iid         bigint NOT NULL,
    project     text,
    -- Null while only its pipelines are known.
    state       text,
    happened_at bigint NOT NULL,
    known_at    bigint NOT NULL,
    content     text   NOT NULL,
    due_at      bigint,
    counted     text,
    UNIQUE (instance, project_id, iid)
  );
  CREATE INDEX changes_due ON changes (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX changes_by_time ON changes (happened_at);
  CREATE INDEX changes_by_state ON changes (instance, project_id, state, known_at);
  `
}

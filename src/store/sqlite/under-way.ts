// Notes about runs being settled and outbox entries being encoded, on SQLite: in small files beside the store, like those about
// deliveries.
import { z } from 'zod'
import { circumstances } from '../sql/circumstances.ts'
import { openReadingNote, type ReadingNote } from './reading-note.ts'
import { maxDeaths, runOfName, type UnderWay, type UnderWayNote } from '../ports/under-way.ts'
import type { Database } from './database.ts'

/** `file`: the store's; undefined for a store in memory. */
export function sqliteUnderWay(db: Database, file: string | undefined): UnderWay {
  const entry = `SELECT 1 FROM outbox WHERE id = ? AND state = 'pending'`
  const run = 'SELECT 1 FROM runs WHERE instance = ? AND pipeline_id = ? AND due_at IS NOT NULL'
  return {
    settling: note(file && `${file}-settling`, name => {
      const { instance, pipelineId } = runOfName(name)
      return db.prepare(run).get(instance, pipelineId) !== undefined
    }),
    encoding: note(file && `${file}-encoding`, id => db.prepare(entry).get(Number(id)) !== undefined),
  }
}

function note(file: string | undefined, stillWaits: (name: string) => boolean): UnderWayNote {
  let opened: ReadingNote<string> | undefined
  const noted = (): ReadingNote<string> =>
    (opened ??= openReadingNote({ file, id: z.string(), stillWaits, under: circumstances }))
  return {
    begin: async names => {
      const isSuspect = (name: string): boolean => noted().deaths(name) !== undefined
      const free = names.filter(name => !isSuspect(name))
      if (free.length > 0) noted().begin(free)
      return names.filter(isSuspect)
    },
    beginAlone: async name => {
      const deaths = noted().deaths(name) ?? 0
      if (deaths < maxDeaths) noted().begin([name])
      return deaths
    },
    end: async () => noted().end(),
    forget: async name => noted().forget(name),
  }
}

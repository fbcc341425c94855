// A new, empty PostgreSQL database on the server that all test files of a run share. Who stops servers, or counts what they hold, starts
// one of its own (`postgres-server.ts`).
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a service that creates a database at each request and answers with its URL. */
    readonly newDatabase: string
  }
}

export async function newDatabase(): Promise<string> {
  const answer = await fetch(inject('newDatabase'))
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}

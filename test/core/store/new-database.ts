// Creates a new, empty PostgreSQL database on the server that all test files share. Tests that stop the server, or that count what is on it, start
// their own server (`postgres-server.ts`).
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a service that creates a database for each request and returns the database's URL. */
    readonly newDatabase: string
  }
}

export async function newDatabase(): Promise<string> {
  const answer = await fetch(inject('newDatabase'))
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}

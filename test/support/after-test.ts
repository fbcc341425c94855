// Closes or removes the resources that a test has opened, once the test is over.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import type { AddressInfo, Server } from 'node:net'

type Closable =
  { close(): unknown } | { dispose(): unknown } | { kill(): unknown } | { destroy(): unknown } | AsyncDisposable

/**
 * Closes the resource when the test is over. Returns the resource. Resources are closed in the reverse order of opening. May also be called in
 * `beforeEach`.
 */
export function closeAfterTest<T extends Closable>(opened: T): T {
  onTestFinished(async () => {
    if ('close' in opened) await opened.close()
    else if ('dispose' in opened) await opened.dispose()
    else if ('kill' in opened) await opened.kill()
    else if ('destroy' in opened) await opened.destroy()
    else await opened[Symbol.asyncDispose]()
  })
  return opened
}

/** Creates a folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts a server that listens until the test is over. Resolves to its local port number. */
export async function listen(server: Server & { closeAllConnections?(): void }): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections?.()
  })
  return (server.address() as AddressInfo).port
}

// What the admin listener has beside health where the pages are off: `/metrics` behind its gate, and for all else an answer that says so.
import { refuse, type Gate } from '../../console/access/gate.ts'
import type { FastifyPluginAsync } from 'fastify'

const message =
  'The pages and their JSON API are off: PIPESPAN_PAGES=false (pages.enabled). To see them, set it to true and restart the daemon. /healthz, /readyz and /metrics stay.'

/** `guarded`: the routes behind the gate. */
export function withoutPages(gate: Gate, guarded: readonly FastifyPluginAsync[]): FastifyPluginAsync {
  return async app => {
    app.addHook('preClose', async () => gate.close())
    for (const path of ['/', '/*'])
      app.get(path, { config: { isForTheRest: true } }, async (_request, reply) => reply.code(404).send({ message }))
    await app.register(async inner => {
      inner.addHook('onRequest', async (request, reply) => {
        void reply.header('cache-control', 'no-store')
        const found = await gate.check(request)
        return found === 'loopback' || found === 'bearer' ? undefined : refuse(reply, found)
      })
      for (const routes of guarded) await inner.register(routes)
    })
  }
}

// What the routes of pages share: the requested address, the fields of a form, and sending HTML.
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Path and query below the base. */
export function addressOf(request: FastifyRequest, base: string): string {
  const address = request.url.slice(base.length)
  return address.startsWith('/') ? address : `/${address}`
}

export function formOf(request: FastifyRequest): URLSearchParams {
  return request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
}

export function show(reply: FastifyReply, text: string, status: number): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(text)
}

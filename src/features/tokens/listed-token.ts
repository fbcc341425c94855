// Parses the token API's responses. The API's documentation does not specify their shapes, so every plausible shape is accepted.
import { z } from 'zod'

/** A token in the token API's list. The list never contains token values. */
export interface ListedToken {
  readonly id: string
  /** Undefined if the list contains no names. */
  readonly name?: string | undefined
  /** When the token was created, Unix ms. */
  readonly createdAt?: number | undefined
  /** When the token was last used, Unix ms. */
  readonly lastUsedAt?: number | undefined
  /** When the token expires, Unix ms. */
  readonly expiresAt?: number | undefined
  /** False if the list marks the token as revoked or expired. */
  readonly valid: boolean
}

const id = z.union([z.string().min(1), z.number()]).transform(String)
const text = z.string().nullish().catch(undefined)

const listed = z.looseObject({
  id,
  name: text,
  created_at: text,
  last_used_at: text,
  revoked_at: text,
  expires_at: text,
  revoked: z.boolean().nullish().catch(undefined),
  status: text,
})

const list = z.union([
  z.array(listed),
  z.looseObject({ tokens: z.array(listed) }).transform(body => body.tokens),
  z.looseObject({ data: z.array(listed) }).transform(body => body.data),
  z.looseObject({ data: z.looseObject({ tokens: z.array(listed) }) }).transform(body => body.data.tokens),
])

const creation = z.looseObject({ token: z.string().min(1), id: id.nullish().catch(undefined) })

const created = z.union([creation, z.looseObject({ data: creation }).transform(body => body.data)])

/** Whether the observability instance enforces tokens. Null means false, as in all of the platform's responses. */
const enabled = z.looseObject({
  enabled: z
    .boolean()
    .nullable()
    .transform(is => is === true),
})

const state = z.union([
  enabled,
  z.looseObject({ data: enabled }).transform(body => body.data),
  z.looseObject({ state: enabled }).transform(body => body.state),
])

/** Parses a token list: an array, or an object with `tokens` or `data`. IDs may be numbers or strings. Returns undefined for any other shape. */
export function readList(json: unknown, now: number): readonly ListedToken[] | undefined {
  const { data } = list.safeParse(json)
  return data?.map(entry => {
    const expiresAt = time(entry.expires_at)
    const isOver = entry.revoked === true || entry.revoked_at != null || /^(revoked|expired)$/i.test(entry.status ?? '')
    return {
      id: entry.id,
      valid: !isOver && !(expiresAt !== undefined && expiresAt <= now),
      name: entry.name ?? undefined,
      createdAt: time(entry.created_at),
      lastUsedAt: time(entry.last_used_at),
      expiresAt,
    }
  })
}

/** Returns the created token's value, and its ID if the response contains one. Returns undefined if the response contains no value. */
export function readCreated(json: unknown): { readonly value: string; readonly id: string | undefined } | undefined {
  const { data } = created.safeParse(json)
  return data === undefined ? undefined : { value: data.token, id: data.id ?? undefined }
}

export function readState(json: unknown): boolean | undefined {
  return state.safeParse(json).data?.enabled
}

function time(value: string | null | undefined): number | undefined {
  const ms = value == null ? NaN : Date.parse(value)
  return Number.isNaN(ms) ? undefined : ms
}

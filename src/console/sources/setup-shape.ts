// The schema of the settings that the pages show, without secrets, and of the version of the live configuration.
import { z } from 'zod'
import { millis, type Shaped } from '../layout/shape.ts'

export const setupShape = z.object({
  webhooks: z.string(),
  platform: z.string().optional(),
  hasPlatformToken: z.boolean(),
  hasWebhookSecret: z.boolean(),
  platforms: z.array(
    z.object({
      name: z.string(),
      url: z.string().optional(),
      groups: z
        .array(z.string())
        .describe('Groups that the token is for; empty if it is for all other projects of the platform.'),
      fingerprint: z.string().optional(),
      perMinute: z.number().describe('Requests per minute.'),
      hasWebhookSecret: z.boolean(),
    }),
  ),
  destinations: z.array(
    z.object({
      name: z.string(),
      endpoints: z.array(z.object({ signal: z.string(), url: z.string() })),
      fingerprint: z.string().optional(),
      tokenFrom: z.string().optional(),
    }),
  ),
  isExportOff: z.boolean().describe('Whether the operator has switched off all exports.'),
})
/**
 * The settings that the pages show. `fingerprint` is the start of the token's SHA-256 hash. `tokenFrom` is the path of the token file; if the token
 * is a fixed value, it is a message that says so.
 */
export type Setup = Shaped<typeof setupShape>

export const configStatusShape = z
  .object({
    digest: z.string().describe('Digest of the settings without secrets. Equal settings have equal digests.'),
    since: millis,
    restart: z.array(z.string()).describe('Settings that were changed in the file but only apply after a restart.'),
    refused: z
      .object({ at: millis, faults: z.array(z.string()) })
      .optional()
      .describe('The last reload, if it was refused, with the errors in the configuration.'),
    reloads: z
      .object({ applied: z.number(), refused: z.number() })
      .describe('Number of reloads since the process started.'),
  })
  .describe('The live configuration.')
export type ConfigStatus = Shaped<typeof configStatusShape>

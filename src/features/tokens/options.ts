// The options for ingest tokens, which identify the observability instance that manages them.
import { certificateFile, secret } from '../../daemon/configuration/secret-kinds.ts'
import { httpUrl } from '../../daemon/configuration/address-kinds.ts'
import { secretSetting, setting } from '../../daemon/configuration/option.ts'
import type { SliceOf } from '../../daemon/feature.ts'

export const tokenOptions = {
  'OTLP export': {
    observability: {
      url: setting(httpUrl, { example: 'https://observability.example.com' }).describe(
        'The observability instance whose ingest tokens `pipespan tokens` and `pipespan enforcement` manage.',
      ),
      apiKey: secretSetting(secret).describe(
        'API key of the observability instance, with the role Editor or Administrator.',
      ),
      caFile: setting(certificateFile, { unset: "Node's built-in certificate authorities" }).describe(
        'PEM file with the CA certificates for the certificate of the observability instance.',
      ),
    },
  },
}

export type TokenOptions = SliceOf<typeof tokenOptions>

// The options of ingest tokens: the observability instance that manages them.
import { certificateFile } from '../../daemon/configuration/file-kinds.ts'
import { httpUrl } from '../../daemon/configuration/address-kinds.ts'
import { secret } from '../../daemon/configuration/secret-kinds.ts'
import { secretSetting, setting } from '../../daemon/configuration/option.ts'
import type { SliceOf } from '../../daemon/feature.ts'

export const tokenOptions = {
  'OTLP export': {
    observability: {
      url: setting(httpUrl, {
        variable: 'PIPESPAN_OBSERVABILITY_URL',
        description:
          'The observability instance whose ingest tokens `pipespan tokens` and `pipespan enforcement` manage.',
        example: 'https://observability.example.com',
      }),
      apiKey: secretSetting(secret, {
        variable: 'PIPESPAN_OBSERVABILITY_API_KEY',
        description: 'Its API key, with the role Editor or Administrator.',
      }),
      caFile: setting(certificateFile, {
        variable: 'PIPESPAN_OBSERVABILITY_CA_FILE',
        unset: "Node's built-in certificate authorities",
        description: 'PEM file with the CA certificates for its certificate.',
      }),
    },
  },
}

export type TokenOptions = SliceOf<typeof tokenOptions>

import { expect, it } from 'vitest'
import { certificateRemedy } from '../../src/lib/certificate-remedy.ts'

it.each([
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /^Trust it\.$/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /^Trust it\.$/],
  ['self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)', /^Trust it\.$/],
  ['SELF_SIGNED_CERT_IN_CHAIN', /^Trust it\.$/],
  ['certificate has expired (CERT_HAS_EXPIRED)', /has expired/],
  ['CERT_NOT_YET_VALID', /is not valid yet/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /is for another host/],
  ['CERT_REVOKED', /^Replace the certificate/],
])('has a remedy for %s', (text, remedy) => {
  expect(certificateRemedy(text, 'Trust it.')).toMatch(remedy)
})

it.each(['', 'ECONNREFUSED', 'ERR_TLS_HANDSHAKE_TIMEOUT', 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'])(
  "does not take %j for an error of the server's certificate",
  text => {
    expect(certificateRemedy(text, 'Trust it.')).toBeUndefined()
  },
)

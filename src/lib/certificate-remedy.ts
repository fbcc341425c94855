// Says how to fix an error of a server's certificate.

/**
 * `text` is the error's code, or a message that contains it. `trust` is the remedy for an unknown issuer. Returns undefined if the error is not about
 * the server's certificate.
 */
export function certificateRemedy(text: string, trust: string): string | undefined {
  return [...remedies, [unknownIssuer, trust] as const, otherFault].find(([codes]) => codes.test(text))?.[1]
}

const remedies = [
  [/\bCERT_HAS_EXPIRED\b/, 'The certificate has expired: renew it on the server, and check the clock of this machine.'],
  [
    /\bCERT_NOT_YET_VALID\b/,
    'The certificate is not valid yet: check the clocks of this machine and of the machine that issued it.',
  ],
  [
    /\b(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)\b/,
    'The certificate is for another host: use a host name in the URL that the certificate contains, or replace the certificate.',
  ],
] as const

const unknownIssuer =
  /\b(UNABLE_TO_GET_ISSUER_CERT\w*|UNABLE_TO_VERIFY_LEAF_SIGNATURE|\w*SELF_SIGNED_CERT\w*|CERT_UNTRUSTED|INVALID_CA)\b/

const otherFault = [/\b(CERT|ERR_TLS_CERT)_\w+/, 'Replace the certificate of the server, or check its chain.'] as const

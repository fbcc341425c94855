// The forms of secrets. For each form, a function generates a line of text and the secret in it.
import { Random } from '../../src/simulator/platform/random.ts'

const random = new Random(20)
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const hex = '0123456789abcdef'
export const some = (length: number, from = letters): string =>
  Array.from({ length }, () => from[Math.floor(random.between(0, from.length))] ?? 'x').join('')

/** The forms of secrets by name, each with a function that generates a line and its secret. */
export const secretForms: readonly (readonly [name: string, make: () => readonly [line: string, secret: string]])[] = [
  ['a personal token', () => plain(`glpat-${some(20)}`)],
  ['a runner token', () => plain(`glrt-${some(20)}`)],
  ['a job token', () => plain(`glcbt-64_${some(20)}`)],
  ['a forge token', () => plain(`ghp_${some(36)}`)],
  ['a fine-grained forge token', () => plain(`github_pat_${some(22)}_${some(59)}`)],
  ['a registry token', () => plain(`npm_${some(36)}`)],
  ['a package index token', () => plain(`pypi-${some(80)}`)],
  ['a cloud key', () => plain(`AKIA${some(16, upper)}`)],
  ['an API key', () => plain(`AIza${some(35)}`)],
  ['an OAuth access token', () => plain(`ya29.${some(60)}`)],
  ['a chat token', () => plain(`xoxb-${some(11, '0123456789')}-${some(24)}`)],
  ['a cookie of a chat', () => plain(`xoxd-${some(40)}`)],
  ['a token of Grafana Cloud', () => plain(`glc_eyJ${some(60)}`)],
  ['a token of Pulumi', () => plain(`pul-${some(40, hex)}`)],
  ['a token of Sentry', () => plain(`sntrys_eyJ${some(60)}`)],
  ['a token of SonarQube', () => plain(`sqp_${some(40, hex)}`)],
  ['a key of Postman', () => plain(`PMAK-${some(24, hex)}-${some(34, hex)}`)],
  ['a key of RubyGems', () => plain(`rubygems_${some(48, hex)}`)],
  ['a token of Terraform', () => plain(`${some(14)}.atlasv1.${some(67)}`)],
  ['a key of New Relic', () => plain(`NRAK-${some(27, upper)}`)],
  ['a token of Doppler', () => plain(`dp.st.dev.${some(43)}`)],
  ['a key of Heroku', () => plain(`HRKU-AA${some(58)}`)],
  ['a token of Fly', () => plain(`fo1_${some(43)}`)],
  ['a key of Brevo', () => plain(`xkeysib-${some(64, hex)}-${some(16)}`)],
  ['a token of 1Password', () => plain(`ops_eyJ${some(200)}`)],
  ['a token of Clojars', () => plain(`CLOJARS_${some(60, hex)}`)],
  ['a payment key', () => plain(`sk_live_${some(24)}`)],
  ['a mail key', () => plain(`SG.${some(22)}.${some(43)}`)],
  ['a JSON Web Token', () => plain(`eyJ${some(30)}.eyJ${some(60)}.${some(43)}`)],
  ['a bearer header', () => within(some(40), value => `> Authorization: Bearer ${value}`)],
  [
    'a basic header',
    () => within(`${some(30)}==`, value => `curl -H "authorization: Basic ${value}" https://example.com`),
  ],
  ['a token header', () => within(some(24), value => `PRIVATE-TOKEN: ${value}`)],
  [
    'a password in an address',
    () => within(some(16), value => `Cloning into https://ci:${value}@git.example.com/a.git`),
  ],
  ['an assignment', () => within(some(24), value => `export DB_PASSWORD="${value}"`)],
  ['an option', () => within(some(18), value => `$ deploy --api-key ${value} --verbose`)],
  ['a field of JSON', () => within(some(32, hex), value => `{"client_secret": "${value}", "name": "shop"}`)],
  [
    'a parameter of an address',
    () => within(some(20), value => `GET https://example.com/v1?access_token=${value}&page=2`),
  ],
  ['a password in quotes', () => within(`${some(8)} ${some(8)}`, value => `PASSWORD='${value}'`)],
  ['a header in an assignment', () => within(some(20), value => `api-key = x-api-key: ${value}`)],
  ['a bearer in an assignment', () => within(some(20), value => `token: Bearer ${value}`)],
  ['JSON within JSON', () => within(some(20), value => String.raw`"{\"password\":\"${value}\"}"`)],
  ['a list of variables', () => within(some(12), value => `{"name":"DB_PASSWORD","value":"${value}"}`)],
  ['user and password of curl', () => within(some(12), value => `$ curl -s -u ada:${value} https://example.com`)],
  [
    'user and password of curl without a blank',
    () => within(some(12), value => `curl -uada:${value} https://example.com`),
  ],
  ['the password of mysql', () => within(some(12), value => `$ mysql -h db -uroot -p${value} shop < dump.sql`)],
  ['the password of docker', () => within(some(12), value => `docker login -u ci -p ${value} registry.example.com`)],
  ['the password of helm', () => within(some(12), value => `helm registry login -u ci --password=${value} x.io`)],
  ['the password of sshpass', () => within(some(12), value => `sshpass -p '${value}' ssh deploy@10.0.0.1`)],
  ['an element', () => within(some(12), value => `  <password>${value}</password>`)],
  ['a CDATA section', () => within(some(12), value => `<db:apiKey id="1"><![CDATA[${value}]]></db:apiKey>`)],
  ['an attribute of XML', () => within(some(12), value => `<add key="Password" value="${value}" />`)],
  ['credentials of Docker', () => within(`${some(24)}==`, value => `{"auths":{"r.io":{"auth": "${value}"}}}`)],
  ['credentials of npm', () => within(some(24), value => `//registry.npmjs.org/:_authToken=${value}`)],
  ['.netrc in one line', () => within(some(12), value => `machine example.com login ci password ${value}`)],
  ['.netrc in several lines', () => within(some(12), value => `  password ${value}`)],
  ['cookies', () => within(some(24), value => `> Cookie: theme=dark; session=${value}`)],
  ['a new cookie', () => within(some(24), value => `< Set-Cookie: session=${value}; Path=/; HttpOnly`)],
  ['an account of Azure', () => within(`${some(86)}==`, value => `AccountName=a;AccountKey=${value};EndpointSuffix=x`)],
  ['a signature of Azure', () => within(some(40), value => `https://a.example.net/c?sv=2022&sig=${value}%3D&se=1`)],
  ['a connection string', () => within(some(12), value => `Server=db;Uid=sa;Pwd=${value};Encrypt=yes`)],
  ['a password with @', () => within(`${some(8)}@${some(8)}`, value => `https://ci:${value}@git.example.com/a.git`)],
  ['Hugging Face', () => plain(`hf_${some(34)}`)],
  ['Telegram', () => plain(`${some(9, '123456789')}:AA${some(33)}`)],
  ['Twilio', () => plain(`SK${some(32, hex)}`)],
  ['Bitbucket', () => plain(`ATBB${some(32)}`)],
  ['Grafana', () => plain(`glsa_${some(32)}_${some(8, hex)}`)],
  ['Databricks', () => plain(`dapi${some(32, hex)}`)],
  ['a glued JSON Web Token', () => plain(`eyJ-eyJ${some(30)}.eyJ${some(60)}.${some(43)}`)],
  ['a header of any scheme', () => within(some(20), value => `authorization: ApiKey ${value}`)],
  ['a header of a made-up scheme', () => within(`${some(19)}7`, value => `Authorization: House-Key ${value}`)],
  ['a header without a scheme', () => within(`${some(19)}7`, value => `proxy-authorization: ${value}`)],
  ['a digest header', () => within(some(32, hex), value => `Authorization: Digest username="ci", response="${value}"`)],
  ['a negotiate header', () => within(`${some(40)}==`, value => `Authorization: Negotiate ${value}`)],
  [
    'a signature of AWS',
    () =>
      within(
        some(64, hex),
        value => `Authorization: AWS4-HMAC-SHA256 Credential=ci/20260101, SignedHeaders=host, Signature=${value}`,
      ),
  ],
  [
    'user and password of curl among other options',
    () => within(some(12), value => `curl -sSLu ci:${value} https://example.com`),
  ],
  [
    'a long option with user and password',
    () => within(some(12), value => `curl --user ci:${value} https://example.com`),
  ],
  ['credentials of skopeo', () => within(some(12), value => `skopeo copy --dest-creds=ci:${value} a b`)],
  [
    '.netrc with an account',
    () => within(some(12), value => `machine example.com account x login ci password ${value}`),
  ],
  ['.netrc with the password first', () => within(some(12), value => `machine example.com password ${value} login ci`)],
  ['.pgpass', () => within(some(12), value => `db.example.com:5432:shop:ci:${value}`)],
  ['a passphrase of openssl', () => within(some(12), value => `-passin pass:${value}`)],
  ...[
    'FOO_PASS',
    'DB_PWD',
    'PGPASSWORD',
    'CI_PASSWD',
    'KEY_PASSPHRASE',
    'GCP_CREDENTIALS',
    'MYSQL_PWD',
    'app.pass',
    'DB_PASS_2',
    'FOO_CREDS',
    'FOO_PW',
    'REDISCLI_AUTH',
  ].map(name => [`an assignment to ${name}`, () => within(some(14), value => `${name}=${value}`)] as const),
  ['a header in a list', () => within(some(20), value => `{"authorization": ["ApiKey ${value}"]}`)],
  [
    'user and password in quotes',
    () => within(`${some(8)} ${some(8)}`, value => `curl -u 'ci:${value}' https://example.com`),
  ],
  ['a password of httpie', () => within(some(12), value => `http -a ci:${value} example.com`)],
  ['a password of LDAP', () => within(some(12), value => `ldapsearch -x -w ${value} -b dc=example`)],
  ['a key of openssl', () => within(some(12), value => `openssl enc -aes-256-cbc -k ${value} -in a`)],
  ['a password of keytool', () => within(some(12), value => `keytool -list -storepass ${value} -v`)],
  ['a variable of a Dockerfile', () => within(some(12), value => `Step 3/9 : ENV DB_PASS ${value}`)],
  ['a key of age', () => plain(`AGE-SECRET-KEY-1${some(58, upper)}`)],
]

function plain(secret: string): readonly [string, string] {
  const around = [`Using ${secret} now`, `key=${secret}`, `"${secret}"`, `\u2713 ${secret}.`, `(${secret})`]
  return [around[Math.floor(random.between(0, around.length))] ?? secret, secret]
}

function within(secret: string, line: (value: string) => string): readonly [string, string] {
  return [line(secret), secret]
}

// The names of the CI/CD and VCS conventions that are in use. They are release candidates, so the package offers them only
// at an entry that may change in any minor version: they are copied here, and a test holds the copies against the package.
// https://opentelemetry.io/docs/specs/semconv/registry/attributes/cicd/

/**
 * The conventions' schema that spans, logs and metrics are stamped with, resource and scope alike: the newest published
 * schema these names were checked against. Every name below is the same in 1.44.0 and in the package's 1.45.0.
 */
export const schemaUrl = 'https://opentelemetry.io/schemas/1.44.0'

export const ATTR_CICD_PIPELINE_NAME = 'cicd.pipeline.name'
export const ATTR_CICD_PIPELINE_RESULT = 'cicd.pipeline.result'
export const ATTR_CICD_PIPELINE_RUN_ID = 'cicd.pipeline.run.id'
export const ATTR_CICD_PIPELINE_RUN_STATE = 'cicd.pipeline.run.state'
export const ATTR_CICD_PIPELINE_RUN_URL_FULL = 'cicd.pipeline.run.url.full'
export const ATTR_CICD_PIPELINE_TASK_NAME = 'cicd.pipeline.task.name'
export const ATTR_CICD_PIPELINE_TASK_RUN_ID = 'cicd.pipeline.task.run.id'
export const ATTR_CICD_PIPELINE_TASK_RUN_RESULT = 'cicd.pipeline.task.run.result'
export const ATTR_CICD_PIPELINE_TASK_RUN_URL_FULL = 'cicd.pipeline.task.run.url.full'
export const ATTR_CICD_PIPELINE_TASK_TYPE = 'cicd.pipeline.task.type'
export const ATTR_CICD_WORKER_ID = 'cicd.worker.id'
export const ATTR_CICD_WORKER_NAME = 'cicd.worker.name'
export const ATTR_CICD_WORKER_STATE = 'cicd.worker.state'
/** Superseded by `deployment.environment.name`; carried beside it for the dashboards that still ask for it. */
export const ATTR_DEPLOYMENT_ENVIRONMENT = 'deployment.environment'
export const ATTR_VCS_CHANGE_ID = 'vcs.change.id'
export const ATTR_VCS_CHANGE_STATE = 'vcs.change.state'
export const ATTR_VCS_CHANGE_TITLE = 'vcs.change.title'
export const ATTR_VCS_OWNER_NAME = 'vcs.owner.name'
export const ATTR_VCS_PROVIDER_NAME = 'vcs.provider.name'
export const ATTR_VCS_REF_BASE_NAME = 'vcs.ref.base.name'
export const ATTR_VCS_REF_BASE_REVISION = 'vcs.ref.base.revision'
export const ATTR_VCS_REF_HEAD_NAME = 'vcs.ref.head.name'
export const ATTR_VCS_REF_HEAD_REVISION = 'vcs.ref.head.revision'
export const ATTR_VCS_REF_HEAD_TYPE = 'vcs.ref.head.type'
export const ATTR_VCS_REPOSITORY_NAME = 'vcs.repository.name'
export const ATTR_VCS_REPOSITORY_URL_FULL = 'vcs.repository.url.full'

export const CICD_PIPELINE_ACTION_NAME_VALUE_RUN = 'RUN'
export const CICD_PIPELINE_RESULT_VALUE_CANCELLATION = 'cancellation'
export const CICD_PIPELINE_RESULT_VALUE_ERROR = 'error'
export const CICD_PIPELINE_RESULT_VALUE_FAILURE = 'failure'
export const CICD_PIPELINE_RESULT_VALUE_SKIP = 'skip'
export const CICD_PIPELINE_RESULT_VALUE_SUCCESS = 'success'
export const CICD_PIPELINE_RESULT_VALUE_TIMEOUT = 'timeout'
export const CICD_PIPELINE_RUN_STATE_VALUE_EXECUTING = 'executing'
export const CICD_PIPELINE_RUN_STATE_VALUE_FINALIZING = 'finalizing'
export const CICD_PIPELINE_RUN_STATE_VALUE_PENDING = 'pending'
export const CICD_WORKER_STATE_VALUE_AVAILABLE = 'available'
export const CICD_WORKER_STATE_VALUE_OFFLINE = 'offline'
export const VCS_CHANGE_STATE_VALUE_CLOSED = 'closed'
export const VCS_CHANGE_STATE_VALUE_MERGED = 'merged'
export const VCS_CHANGE_STATE_VALUE_OPEN = 'open'
export const VCS_CHANGE_STATE_VALUE_WIP = 'wip'
export const VCS_REF_HEAD_TYPE_VALUE_BRANCH = 'branch'
export const VCS_REF_HEAD_TYPE_VALUE_TAG = 'tag'

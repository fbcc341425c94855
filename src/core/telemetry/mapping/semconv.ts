// The attribute names of the CI/CD and VCS conventions that Pipespan uses. They are release candidates, which `@opentelemetry/semantic-conventions`
// exports only from an unstable entry point. So they are copied here, and a test compares them with that package.
// https://opentelemetry.io/docs/specs/semconv/registry/attributes/cicd/

/**
 * The schema URL of all resources and scopes: the newest published schema that these names were checked against. All names below are the same in
 * 1.44.0 and in the package's 1.45.0.
 */
export const schemaUrl = 'https://opentelemetry.io/schemas/1.44.0'

export const ATTR_CICD_PIPELINE_ACTION_NAME = 'cicd.pipeline.action.name'
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
export const ATTR_CICD_SYSTEM_COMPONENT = 'cicd.system.component'
export const ATTR_CICD_WORKER_ID = 'cicd.worker.id'
export const ATTR_CICD_WORKER_NAME = 'cicd.worker.name'
export const ATTR_CICD_WORKER_STATE = 'cicd.worker.state'
export const ATTR_CICD_WORKER_URL_FULL = 'cicd.worker.url.full'
/** This attribute is superseded by `deployment.environment.name`, but kept for dashboards that still use it. */
export const ATTR_DEPLOYMENT_ENVIRONMENT = 'deployment.environment'
export const ATTR_DEPLOYMENT_ID = 'deployment.id'
export const ATTR_DEPLOYMENT_NAME = 'deployment.name'
export const ATTR_DEPLOYMENT_STATUS = 'deployment.status'
export const ATTR_HOST_NAME = 'host.name'
export const ATTR_K8S_NODE_NAME = 'k8s.node.name'
export const ATTR_K8S_POD_NAME = 'k8s.pod.name'
export const ATTR_TEST_CASE_NAME = 'test.case.name'
export const ATTR_TEST_CASE_RESULT_STATUS = 'test.case.result.status'
export const ATTR_TEST_SUITE_NAME = 'test.suite.name'
export const ATTR_TEST_SUITE_RUN_STATUS = 'test.suite.run.status'
export const ATTR_VCS_CHANGE_ID = 'vcs.change.id'
export const ATTR_VCS_CHANGE_STATE = 'vcs.change.state'
export const ATTR_VCS_CHANGE_TITLE = 'vcs.change.title'
export const ATTR_VCS_OWNER_NAME = 'vcs.owner.name'
export const ATTR_VCS_PROVIDER_NAME = 'vcs.provider.name'
export const ATTR_VCS_REF_BASE_NAME = 'vcs.ref.base.name'
export const ATTR_VCS_REF_BASE_REVISION = 'vcs.ref.base.revision'
export const ATTR_VCS_REF_BASE_TYPE = 'vcs.ref.base.type'
export const ATTR_VCS_REF_HEAD_NAME = 'vcs.ref.head.name'
export const ATTR_VCS_REF_HEAD_REVISION = 'vcs.ref.head.revision'
export const ATTR_VCS_REF_HEAD_TYPE = 'vcs.ref.head.type'
export const ATTR_VCS_REPOSITORY_NAME = 'vcs.repository.name'
export const ATTR_VCS_REPOSITORY_URL_FULL = 'vcs.repository.url.full'

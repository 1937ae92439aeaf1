import { anyOf, editDistance, nearest } from '@updraft/base';

const wordsIn = (list: string): string[] => list.trim().split(/\s+/);
const pairsIn = (list: string): Record<string, string> =>
  Object.fromEntries(wordsIn(list).map((pair) => pair.split('=')) as [string, string][]);

/** Every command of `condor_submit`, by its usual name; families with variable endings are below. */
const names = new Set(
  `
  accounting_group accounting_group_user allow_arguments_v1 allow_environment_v1
  allowed_execute_duration allowed_job_duration append_files arguments batch_extra_submit_args batch_id
  batch_name batch_project batch_queue batch_runtime checkpoint_destination checkpoint_exit_code
  compress_files concurrency_limits concurrency_limits_expr container_image container_is_common
  container_service_names container_target_dir core_size cron_day_of_month cron_day_of_week cron_hour
  cron_minute cron_month cron_prep_time cron_window cuda_version dagman_job_id dagman_log
  deferral_prep_time deferral_time deferral_window delegate_job_gsi_credentials_lifetime description
  disk_usage docker_image docker_network_type docker_override_entrypoint docker_pull_policy
  docker_send_credentials dont_encrypt_input_files dont_encrypt_output_files email_attributes
  encrypt_execute_directory encrypt_input_files encrypt_output_files environment
  erase_output_and_error_on_restart error executable exit_requirements fetch_files file_remaps getenv
  gpus_maximum_capability gpus_minimum_capability gpus_minimum_memory gpus_minimum_runtime grid_resource
  hold hold_kill_sig image_size initialdir input interactive_args interactive_executable jar_files
  job_ad_information_attrs job_lease_duration job_machine_attrs job_machine_attrs_history_length
  job_max_vacate_time jobset keep_claim_idle kill_sig kill_sig_timeout leave_in_queue load_profile
  local_files log log_xml machine_count manifest manifest_dir match_list_length max_idle
  max_job_retirement_time max_materialize max_retries max_transfer_input_mb max_transfer_output_mb
  memory_usage mount_under_scratch next_job_start_delay nice_user noop_job noop_job_exit_code
  noop_job_exit_signal notification notify_user on_evict_checks on_exit_hold on_exit_hold_reason
  on_exit_hold_subcode on_exit_remove output output_destination output_directory parallel_script_shadow
  parallel_script_starter periodic_hold periodic_hold_reason periodic_hold_subcode periodic_release
  periodic_remove periodic_vacate preserve_relative_paths primary_unix_group priority project_name
  public_input_files rank remove_kill_sig rendezvousdir request_cpus request_disk request_gpus
  request_memory require_gpus requirements retry_request_disk retry_request_memory
  retry_request_memory_increase retry_request_memory_max retry_until run_as_owner scitokens_file
  send_credential shell should_transfer_files skip_filechecks skip_if_dataflow stack_size starter_debug
  starter_log stream_error stream_input stream_output submit_event_notes submit_event_notes_attrs
  submit_event_user_notes success_exit_code suspend_job_at_exec transfer_checkpoint_files
  transfer_common_input transfer_container transfer_error transfer_executable transfer_input
  transfer_input_files transfer_output transfer_output_files transfer_output_remaps transfer_plugins
  ulog_execute_attrs universe use_oauth_services use_scitokens use_x509userproxy want_ads
  want_graceful_removal want_io_proxy want_job_networking wantnametag when_to_transfer_output
  x509userproxy
`
    .trim()
    .split(/\s+/),
);

/** Other names that HTCondor accepts for a command: mostly the attribute it sets. */
const others = pairsIn(`
  acctgroupuser=accounting_group_user args=arguments arguments2=arguments cmd=executable
  commoninputfiles=transfer_common_input dagmannodeslog=dagman_log env=environment environment2=environment
  get_env=getenv gpusmaxcapability=gpus_maximum_capability gpusmincapability=gpus_minimum_capability
  gpusminmemory=gpus_minimum_memory gpusminruntime=gpus_minimum_runtime initial_dir=initialdir
  isnoopjob=noop_job iwd=initialdir job_iwd=initialdir jobbatchid=batch_id jobbatchname=batch_name
  jobdescription=description jobmaterializelimit=max_materialize jobmaterializemaxidle=max_idle
  jobmaxretries=max_retries jobnotification=notification jobprio=priority jobsetname=jobset
  jobstarterdebug=starter_debug jobstarterlog=starter_log jobsuccessexitcode=success_exit_code
  jobuniverse=universe lastmatchlistlength=match_list_length leavejobinqueue=leave_in_queue
  manifestdesired=manifest materialize_max_idle=max_idle node_count=machine_count nodecount=machine_count
  preferences=rank prio=priority stderr=error stdin=input stdout=output streamerr=stream_error
  streamin=stream_input streamout=stream_output successcheckpointexitcode=checkpoint_exit_code
  transfercheckpoint=transfer_checkpoint_files transfererr=transfer_error transferin=transfer_input
  transferout=transfer_output transformonevict=on_evict_checks use_scitoken=use_scitokens userlog=log
  userlogexecuteeventattrs=ulog_execute_attrs userlogusexml=log_xml
`);

/** Families of commands with variable endings. */
const families = new RegExp(
  `^(${anyOf(`
    request require remote cron ec2 azure gce arc aws gs s3 vm xen java_vm tool_daemon buffer
    cloud_label transform_body submit submit_warn submit_fail
  `)})_|_oauth_(permissions|resource)(_|$)|_container_port$`,
);

/** Commands that HTCondor, unlike the others, does not accept without underscores. */
const onlyAsWritten = new Set(
  `
  allow_arguments_v1 allow_environment_v1 batch_id batch_name checkpoint_exit_code concurrency_limits
  concurrency_limits_expr dagman_log exit_requirements gpus_maximum_capability
  gpus_minimum_capability gpus_minimum_memory gpus_minimum_runtime
  interactive_args interactive_executable leave_in_queue log_xml match_list_length max_idle max_materialize
  max_retries memory_usage noop_job on_evict_checks retry_request_disk retry_request_memory
  retry_request_memory_increase retry_request_memory_max retry_until send_credential skip_filechecks starter_debug
  starter_log stream_error stream_input stream_output success_exit_code transfer_checkpoint_files
  transfer_common_input transfer_error transfer_input transfer_output ulog_execute_attrs use_scitokens
  use_x509userproxy want_ads accounting_group_user deferral_prep_time deferral_window
`
    .trim()
    .split(/\s+/),
);

const attributes = new Map(
  [...names].filter((name) => !onlyAsWritten.has(name)).map((name) => [name.replaceAll('_', ''), name]),
);

/** The usual name of a submit command; undefined for a user-defined macro. */
export function canonicalCommand(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (names.has(lower)) return lower;
  return others[lower] ?? attributes.get(lower) ?? (families.test(lower) ? lower : undefined);
}

/** The command that a mistyped name most likely meant, of HTCondor or of a pool. */
export function nearestCommand(name: string, ofPools: readonly string[]): string | undefined {
  const found = nearest(name, [...ofPools, ...names]);
  // Some command is always a little alike: only a slip of the keys counts.
  const isSlip = found !== undefined && editDistance(name.toLowerCase(), found) <= 1 + name.length / 6;
  return isSlip ? found : undefined;
}

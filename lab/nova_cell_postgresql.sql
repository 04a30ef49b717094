-- Three tables of the cell of Nova 34.0.0 on PostgreSQL, as nova-manage db sync
-- makes them: those that ironic-ownership reads and writes. An enumeration is
-- a text here.

CREATE TABLE services (
  id SERIAL NOT NULL,
  uuid VARCHAR(36),
  host VARCHAR(255),
  "binary" VARCHAR(255),
  topic VARCHAR(255),
  report_count INTEGER NOT NULL,
  disabled BOOLEAN,
  disabled_reason VARCHAR(255),
  last_seen_up TIMESTAMP WITHOUT TIME ZONE,
  forced_down BOOLEAN,
  version INTEGER,
  created_at TIMESTAMP WITHOUT TIME ZONE,
  updated_at TIMESTAMP WITHOUT TIME ZONE,
  deleted_at TIMESTAMP WITHOUT TIME ZONE,
  deleted INTEGER,
  PRIMARY KEY (id),
  CONSTRAINT uniq_services0host0topic0deleted UNIQUE (host, topic, deleted),
  CONSTRAINT uniq_services0host0binary0deleted UNIQUE (host, "binary", deleted)
);
CREATE UNIQUE INDEX services_uuid_idx ON services (uuid);
CREATE TABLE compute_nodes (
  id SERIAL NOT NULL,
  service_id INTEGER,
  host VARCHAR(255),
  uuid VARCHAR(36),
  vcpus INTEGER NOT NULL,
  memory_mb INTEGER NOT NULL,
  local_gb INTEGER NOT NULL,
  vcpus_used INTEGER NOT NULL,
  memory_mb_used INTEGER NOT NULL,
  local_gb_used INTEGER NOT NULL,
  hypervisor_type TEXT NOT NULL,
  hypervisor_version INTEGER NOT NULL,
  hypervisor_hostname VARCHAR(255),
  free_ram_mb INTEGER,
  free_disk_gb INTEGER,
  current_workload INTEGER,
  running_vms INTEGER,
  cpu_info TEXT NOT NULL,
  disk_available_least INTEGER,
  host_ip INET,
  supported_instances TEXT,
  metrics TEXT,
  pci_stats TEXT,
  extra_resources TEXT,
  stats TEXT,
  numa_topology TEXT,
  ram_allocation_ratio FLOAT,
  cpu_allocation_ratio FLOAT,
  disk_allocation_ratio FLOAT,
  mapped INTEGER,
  created_at TIMESTAMP WITHOUT TIME ZONE,
  updated_at TIMESTAMP WITHOUT TIME ZONE,
  deleted_at TIMESTAMP WITHOUT TIME ZONE,
  deleted INTEGER,
  PRIMARY KEY (id),
  CONSTRAINT uniq_compute_nodes0host0hypervisor_hostname0deleted UNIQUE (host, hypervisor_hostname, deleted)
);
CREATE UNIQUE INDEX compute_nodes_uuid_idx ON compute_nodes (uuid);
CREATE TABLE instances (
  id SERIAL NOT NULL,
  user_id VARCHAR(255),
  project_id VARCHAR(255),
  image_ref VARCHAR(255),
  kernel_id VARCHAR(255),
  ramdisk_id VARCHAR(255),
  hostname VARCHAR(255),
  launch_index INTEGER,
  key_name VARCHAR(255),
  key_data TEXT,
  power_state INTEGER,
  vm_state VARCHAR(255),
  task_state VARCHAR(255),
  memory_mb INTEGER,
  vcpus INTEGER,
  root_gb INTEGER,
  ephemeral_gb INTEGER,
  ephemeral_key_uuid VARCHAR(36),
  host VARCHAR(255),
  node VARCHAR(255),
  compute_id BIGINT,
  instance_type_id INTEGER,
  user_data TEXT,
  reservation_id VARCHAR(255),
  launched_at TIMESTAMP WITHOUT TIME ZONE,
  terminated_at TIMESTAMP WITHOUT TIME ZONE,
  availability_zone VARCHAR(255),
  display_name VARCHAR(255),
  display_description VARCHAR(255),
  launched_on TEXT,
  locked BOOLEAN,
  locked_by VARCHAR(5),
  os_type VARCHAR(255),
  architecture VARCHAR(255),
  vm_mode VARCHAR(255),
  uuid VARCHAR(36) NOT NULL,
  root_device_name VARCHAR(255),
  default_ephemeral_device VARCHAR(255),
  default_swap_device VARCHAR(255),
  config_drive VARCHAR(255),
  access_ip_v4 INET,
  access_ip_v6 INET,
  auto_disk_config BOOLEAN,
  progress INTEGER,
  shutdown_terminate BOOLEAN,
  disable_terminate BOOLEAN,
  cell_name VARCHAR(255),
  cleaned INTEGER,
  hidden BOOLEAN,
  created_at TIMESTAMP WITHOUT TIME ZONE,
  updated_at TIMESTAMP WITHOUT TIME ZONE,
  deleted_at TIMESTAMP WITHOUT TIME ZONE,
  deleted INTEGER,
  PRIMARY KEY (id),
  CONSTRAINT uniq_instances0uuid UNIQUE (uuid)
);
CREATE INDEX instances_compute_id_deleted_idx ON instances (compute_id, deleted);
CREATE INDEX instances_deleted_created_at_idx ON instances (deleted, created_at);
CREATE INDEX instances_host_deleted_cleaned_idx ON instances (host, deleted, cleaned);
CREATE INDEX instances_host_node_deleted_idx ON instances (host, node, deleted);
CREATE INDEX instances_project_id_deleted_idx ON instances (project_id, deleted);
CREATE INDEX instances_project_id_idx ON instances (project_id);
CREATE INDEX instances_reservation_id_idx ON instances (reservation_id);
CREATE INDEX instances_task_state_updated_at_idx ON instances (task_state, updated_at);
CREATE INDEX instances_terminated_at_launched_at_idx ON instances (terminated_at, launched_at);
CREATE INDEX instances_updated_at_project_id_idx ON instances (updated_at, project_id);
CREATE INDEX instances_uuid_deleted_idx ON instances (uuid, deleted);

// Has a webhook a delivery in some state? One seek of an index, whatever its backlog.
#pragma once

/// SQL text, to be used in a WHERE. `state` is a literal. LIMIT
/// keeps it a seek for each row: without it MySQL turns the EXISTS into a join that reads every delivery in
/// that state.
#define STORE_EXISTS_DELIVERY(webhook_id, state)                                                   \
  "(SELECT 1 FROM entregas d FORCE INDEX (entregas_por_reclamar) WHERE d.webhook_id = " webhook_id \
  " AND d.espera = " state " LIMIT 1) IS NOT NULL"

// The first of what waits for each webhook: one seek of an index, whatever the backlog.
#pragma once

// ORDER BY names the column that is compared with the outer row, too: MySQL takes it for no constant within a
// subquery, and would sort the whole backlog by the rest.

/// SQL text: when the first of a webhook's pending deliveries is due, or NULL.
#define STORE_FIRST_DUE(webhook_id)                                               \
  "(SELECT d.proximo_intento FROM entregas d FORCE INDEX (entregas_por_reclamar)" \
  " WHERE d.espera = 'pendiente' AND d.webhook_id = " webhook_id                  \
  " ORDER BY d.webhook_id, d.proximo_intento LIMIT 1)"

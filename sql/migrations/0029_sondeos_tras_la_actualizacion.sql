-- Takes: 12 s for 1,000,000 webhooks that all fail (MariaDB 10.11 with 128 MB of buffer pool, 2 cores).
-- A webhook that has failed since a version without probes (0.1.0) gets its first one now. Without this it would get none before
-- the next attempt of its retry schedule, up to a day later, although its receiver may have come back.
UPDATE webhook_ejecuciones SET adelantar_en = UTC_TIMESTAMP(3)
WHERE ultimo_error <> '' AND fallos_ultimo IS NULL AND adelantar_en IS NULL;

-- Takes: 4 s for 1,000,000 rows of entregas; it copies the table (MariaDB 10.11 with 128 MB of buffer pool, 2 cores).
-- The index by which what waits is found no longer changes when an attempt succeeds. Most deliveries are born leased and are
-- `entregada` some milliseconds later: only to move them from one state to another within an index that nobody looks for
-- them in was a twentieth of what a delivery costs. STORED: the servers purge indexes of virtual columns more slowly.
-- In one statement, and none if a migration that was killed has come this far.

SET @entregas_en_espera = IF(
  EXISTS (SELECT 1 FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name = 'entregas' AND column_name = 'espera'),
  'DO 0',
  "ALTER TABLE entregas
     ADD COLUMN espera ENUM('pendiente', 'retenida', 'fallida') CHARACTER SET ascii COLLATE ascii_bin
       GENERATED ALWAYS AS (IF(estado IN ('pendiente', 'retenida', 'fallida'), estado, NULL)) STORED,
     DROP KEY entregas_por_reclamar,
     ADD KEY entregas_por_reclamar (espera, webhook_id, proximo_intento, id)");
PREPARE entregas_en_espera FROM @entregas_en_espera;
EXECUTE entregas_en_espera;
DEALLOCATE PREPARE entregas_en_espera;
